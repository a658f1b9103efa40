import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Trust } from '../../../src/runner/trust.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

it('lasts from the latest question that was answered, in whichever order the answers come', () => {
  const over = vi.fn()
  const trust = new Trust(25_000, over)
  const first = performance.now()
  vi.advanceTimersByTime(10_000)
  const second = performance.now()
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
  new Trust(25_000, over).end()
  vi.advanceTimersByTime(60_000)
  expect(over).not.toHaveBeenCalled()
})
