import { expect, it } from 'vitest'
import type { LoggedEnd } from '../../../src/base/row-log.ts'
import type { Hook } from '../../../src/hooks/discover.ts'
import { endedBy } from '../../../src/hooks/hosted-ends.ts'

const run = (name: string) => ({
  hook: { plugin: name, name } as Hook,
  attempt: 1,
  logs: { stdout: name, stderr: name },
})

/** The log of hooks that have ended so many seconds ago. */
const log = (secondsAgo: Readonly<Record<string, number>>): ReadonlyMap<string, LoggedEnd> =>
  new Map(
    Object.entries(secondsAgo).map(([name, seconds]) => [
      `${name}.${name}.1`,
      { stdout: `${name}\n`, said: '', at: Date.now() - seconds * 1_000, bootId: '' },
    ]),
  )

it('hooks that are found ended at one look took the time that each of them took', () => {
  const since = performance.now() - 10_000
  const ends = endedBy(log({ a: 9, b: 4, c: 3, e: 1 }), ['a', 'b', 'c', 'd', 'e'].map(run), since)
  expect(ends.map(({ hook, stdout }) => [hook.name, stdout])).toEqual([
    ['a', 'a\n'],
    ['b', 'b\n'],
    ['c', 'c\n'],
  ])
  expect(ends.map(({ began, ended }) => Math.round((ended - began) / 1000))).toEqual([1, 5, 1])
  expect(ends[0]!.began).toBe(since)
})

it('no clock that was set makes one end before it began, or later than now', () => {
  const since = performance.now() - 1_000
  for (const { began, ended } of endedBy(log({ a: 3_600, b: -3_600 }), ['a', 'b'].map(run), since)) {
    expect(ended).toBeGreaterThanOrEqual(began)
    expect(ended).toBeLessThanOrEqual(performance.now())
  }
})
