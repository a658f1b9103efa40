import { expect, it } from 'vitest'
import type { OpenEvent } from '../../../src/app/open/events.ts'
import { patience } from '../../../src/app/open/patience.ts'

const failure = (code: string) => Object.assign(new Error(code), { code })

it('a command that waits for its database repeats collisions as ever, and gives up when its budget is over', async () => {
  const told: OpenEvent[] = []
  let revived = 0
  const how = patience(
    0,
    async () => {
      revived += 1
    },
    (event) => told.push(event),
  )
  await how.onWait?.(failure('40P01'))
  expect([told, revived]).toEqual([[], 0])
  await expect(how.onWait?.(failure('ECONNREFUSED'))).rejects.toThrow(/^waited 0 s for the database: ECONNREFUSED/)
  const longer = patience(
    60_000,
    async () => {
      revived += 1
      throw new Error('not yet')
    },
    (event) => told.push(event),
  )
  for (let tries = 0; tries < 3; tries += 1) await longer.onWait?.(failure('53300'))
  expect(told).toEqual([{ event: 'database away', why: '53300', budgetMs: 60_000 }])
  expect(revived).toBe(3)
  expect(longer.until.aborted).toBe(false)
})
