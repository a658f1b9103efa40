import { readdirSync, readFileSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { withPrograms } from '../../support/bare-path.ts'
import { CONTAINER, noContainers } from '../../support/containers.ts'
import { failpoints, fired } from '../../support/failpoints.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { eventually, type Running } from '../../support/program.ts'

const homes = useHomes()
const PS = withPrograms('ps')

interface Place {
  readonly under?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}
const HERE: Place = {}
const NO_PROC: Place = { env: { ARCHIVEBOX_NO_PROC: '1', PATH: PS.path } }
const INSIDE: Place = { under: CONTAINER }

const leftovers = (home: TestHome) => readdirSync(home.dataDir).filter((name) => name.endsWith('.tmp'))

/** Two crawls, and a command that has written the archive's page aside for the first, but has yet to rename it. */
async function writing(place: Place, ms: number): Promise<{ home: TestHome; other: string; writer: Running }> {
  const home = await homes.make()
  const [one, other] = [await home.add('http://127.0.0.1:9/1'), await home.add('http://127.0.0.1:9/2')]
  const env = { ...place.env, ...failpoints(home, `publish.file_aside=sleep:${ms}@4`) }
  const writer = home.start(['crawl', 'cancel', one], { ...place, env })
  await eventually(() => fired(home).has('publish.file_aside'))
  expect(leftovers(home)).toHaveLength(1)
  return { home, other: other!, writer }
}

describe('the page of the archive', () => {
  describe.each<[string, Place, Place, string | false]>([
    ['where there is a /proc', HERE, HERE, false],
    ['without /proc', NO_PROC, NO_PROC, PS.missing],
    ['from another container', HERE, INSIDE, noContainers],
    ['out of another container', INSIDE, HERE, noContainers],
    ['from one container to another, where both have the same pid', INSIDE, INSIDE, noContainers],
  ])('%s', (_where, first, second, missing) => {
    it.skipIf(missing)(`is written by two at once: neither takes the other’s file away ${missing || ''}`, async () => {
      const { home, other, writer } = await writing(first, 4_000)
      process.kill(-writer.pid, 'SIGSTOP') // However long the second takes.
      const { code, stderr } = await home.run(['crawl', 'cancel', other], second)
      expect(code, stderr).toBe(0)
      expect(leftovers(home)).toHaveLength(1)
      process.kill(-writer.pid, 'SIGCONT')
      const end = await writer.finished()
      expect(end.code, end.stderr).toBe(0)
      expect(leftovers(home)).toEqual([])
      expect(readFileSync(join(home.dataDir, 'index.html'), 'utf8')).toMatch(/<\/html>\s*$/)
    })
  })

  describe.each<[string, Place, string | false]>([
    ['where there is a /proc', HERE, false],
    ['without /proc', NO_PROC, PS.missing],
  ])('%s', (_where, place, missing) => {
    it.skipIf(missing)(`is written at once over what one left that was killed ${missing || ''}`, async () => {
      const { home, other, writer } = await writing(place, 60_000)
      writer.signal('SIGKILL')
      await writer.finished()
      const { code, stderr } = await home.run(['crawl', 'cancel', other], place)
      expect(code, stderr).toBe(0)
      expect(leftovers(home)).toEqual([])
    })
  })

  it.skipIf(noContainers)('is written over what one left in another container when that is old', async () => {
    const { home, other, writer } = await writing(INSIDE, 60_000)
    writer.signal('SIGKILL')
    await writer.finished()
    const [left] = leftovers(home)
    const third = await home.add('http://127.0.0.1:9/3')
    expect((await home.run(['crawl', 'cancel', other])).code).toBe(0)
    expect(leftovers(home), 'it may still be there').toEqual([left])
    const before = new Date(Date.now() - 2 * 3_600_000)
    utimesSync(join(home.dataDir, left!), before, before)
    expect((await home.run(['crawl', 'cancel', third])).code).toBe(0)
    expect(leftovers(home)).toEqual([])
  })
})
