import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { type Clocks, Elapsed } from '../../../src/base/elapsed.ts'
import { Trust } from '../../../src/runner/trust.ts'

let clocks: Omit<Clocks, 'monotonic'>
let passed: Elapsed

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
  clocks = { boot: 5_000, wall: 1_700_000_000_000 }
  // Clocks that run alike, beside what a test adds to them.
  passed = new Elapsed(() => {
    const monotonic = performance.now()
    return { monotonic, boot: clocks.boot + monotonic, wall: clocks.wall + monotonic }
  })
})
afterEach(() => {
  vi.useRealTimers()
})

const trusting = (onEnd: () => void) => new Trust(25_000, onEnd, () => passed.now())

it('lasts from the latest question that was answered, in whichever order the answers come', () => {
  const over = vi.fn()
  const trust = trusting(over)
  const first = passed.now()
  vi.advanceTimersByTime(10_000)
  const second = passed.now()
  trust.answered(second)
  vi.advanceTimersByTime(5_000)
  trust.answered(first)
  vi.advanceTimersByTime(19_999)
  expect(over).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(over).toHaveBeenCalledOnce()
})

it('is over once, and not after its end', () => {
  const over = vi.fn()
  trusting(over)
  const ended = vi.fn()
  trusting(ended).end()
  vi.advanceTimersByTime(60_000)
  expect(over).toHaveBeenCalledOnce()
  expect(ended).not.toHaveBeenCalled()
})

it.each([
  ['a suspend, which only CLOCK_BOOTTIME counts', { boot: 30_000, wall: 0 }],
  ['a pause of a virtual machine, which only the wall clock shows', { boot: 0, wall: 30_000 }],
])('is over within a second after %s', (_what, missed) => {
  const over = vi.fn()
  const trust = trusting(over)
  vi.advanceTimersByTime(1_000)
  clocks = { boot: clocks.boot + missed.boot, wall: clocks.wall + missed.wall }
  // An answer to a question from before it comes too late.
  trust.answered(1_000)
  vi.advanceTimersByTime(999)
  expect(over).toHaveBeenCalledOnce()
})

it('outlasts a short suspend, and a clock that is set back, but not another suspend after that', () => {
  const over = vi.fn()
  const trust = trusting(over)
  const away = (boot: number, wall: number) => {
    clocks = { boot: clocks.boot + boot, wall: clocks.wall + wall }
    vi.advanceTimersByTime(500)
  }
  away(10_000, 10_000)
  away(0, -3_600_000)
  expect(over).not.toHaveBeenCalled()
  trust.answered(passed.now())
  away(0, 26_000)
  expect(over).toHaveBeenCalledOnce()
})
