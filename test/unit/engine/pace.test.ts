import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Pace } from '../../../src/engine/runner/pace.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
  vi.advanceTimersByTime(1_000)
})
afterEach(() => {
  vi.useRealTimers()
})
const wait = (pace: Pace) => {
  const ms = pace.waitMs
  vi.advanceTimersByTime(ms)
  return ms
}

it('a loop looks at once, and again at once after it has found something', () => {
  const pace = new Pace()
  expect(pace.waitMs).toBe(0)
  pace.found()
  expect(pace.waitMs).toBe(0)
})

it('a loop that finds nothing looks later and later, from half a second to five; and soon again after it has found something', () => {
  const pace = new Pace()
  const waits: number[] = []
  for (let look = 0; look < 8; look++) {
    pace.foundNothing()
    waits.push(Math.round(wait(pace)))
  }
  expect(waits).toEqual([500, 750, 1125, 1688, 2531, 3797, 5000, 5000])
  pace.found()
  pace.foundNothing()
  expect(pace.waitMs).toBe(500)
})

it('news end the wait', () => {
  const pace = new Pace()
  pace.foundNothing()
  pace.soon()
  expect(pace.waitMs).toBe(0)
})

it('a row that is known to be due soon is looked for then, however often nothing was found before', () => {
  const pace = new Pace()
  for (let look = 0; look < 8; look++) {
    pace.foundNothing()
    wait(pace)
  }
  pace.soon(2_000)
  pace.soon(3_000)
  pace.foundNothing()
  expect(wait(pace)).toBe(2_000)
  pace.foundNothing()
  expect(pace.waitMs).toBe(5_000)
})
