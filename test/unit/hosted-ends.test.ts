import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Hook } from '../../src/hooks/discover.ts'
import { endedBy } from '../../src/hooks/hook-host.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'archivebox-ts-ends-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

/** A hook that has left its output so many seconds ago; undefined: it runs. */
function run(name: string, secondsAgo?: number) {
  const stdout = join(dir, name)
  const at = Date.now() / 1000 - (secondsAgo ?? 0)
  if (secondsAgo !== undefined) {
    writeFileSync(stdout, '')
    utimesSync(stdout, at, at)
  }
  return { hook: { name } as Hook, logs: { stdout, stderr: `${stdout}.err` } }
}

it('hooks that are found ended at one look took the time that each of them took', () => {
  const since = performance.now() - 10_000
  const ends = endedBy([run('a', 9), run('b', 4), run('c', 3), run('d'), run('e', 1)], since)
  expect(ends.map(({ hook }) => hook.name)).toEqual(['a', 'b', 'c'])
  expect(ends.map(({ began, ended }) => Math.round((ended - began) / 1000))).toEqual([1, 5, 1])
  expect(ends[0]!.began).toBe(since)
})

it('no clock that was set makes one end before it began, or later than now', () => {
  const since = performance.now() - 1_000
  for (const { began, ended } of endedBy([run('a', 3_600), run('b', -3_600)], since)) {
    expect(ended).toBeGreaterThanOrEqual(began)
    expect(ended).toBeLessThanOrEqual(performance.now())
  }
})
