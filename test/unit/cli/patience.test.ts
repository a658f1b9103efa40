import { expect, it } from 'vitest'
import { patience } from '../../../src/cli/patience.ts'

const failure = (code: string) => Object.assign(new Error(code), { code })

it('a command that waits for its database repeats collisions as ever, and gives up when its budget is over', async () => {
  const said: string[] = []
  let revived = 0
  const how = patience(
    0,
    async () => {
      revived += 1
    },
    (line) => said.push(line),
  )
  await how.onWait?.(failure('40P01'))
  expect([said, revived]).toEqual([[], 0])
  await expect(how.onWait?.(failure('ECONNREFUSED'))).rejects.toThrow(/^waited 0 s for the database: ECONNREFUSED/)
  const longer = patience(
    60_000,
    async () => {
      revived += 1
      throw new Error('not yet')
    },
    (line) => said.push(line),
  )
  for (let tries = 0; tries < 3; tries += 1) await longer.onWait?.(failure('53300'))
  expect(said).toEqual(['the database is away, waiting for it (up to 60 s): 53300'])
  expect(revived).toBe(3)
  expect(longer.until.aborted).toBe(false)
})
