import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Bell } from '../../../src/base/abort.ts'
import { Log } from '../../../src/base/log.ts'
import { Signals } from '../../../src/runner/signals.ts'

const silent = new Log('test', () => {})

describe('the signals of a runner', () => {
  const before = process.listeners('SIGTERM')
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
  afterEach(() => {
    vi.useRealTimers()
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      for (const listener of process.listeners(name)) if (!before.includes(listener)) process.off(name, listener)
    }
    process.exitCode = undefined
  })
  const press = () => process.emit('SIGTERM', 'SIGTERM')
  const asked = ({ stop }: Signals) => [stop.drain.aborted, stop.force.aborted]

  it('drain at the first and force at the second', () => {
    const signals = new Signals(new Bell(), silent)
    expect(asked(signals)).toEqual([false, false])
    press()
    expect(asked(signals)).toEqual([true, false])
    vi.advanceTimersByTime(1_000)
    press()
    expect(asked(signals)).toEqual([true, true])
  })

  it('tell a person what pressing again does, and nobody else', () => {
    const said: string[] = []
    const log = new Log('test', ({ text }) => said.push(text))
    new Signals(new Bell(), log)
    press()
    expect(said).toEqual([expect.stringMatching(/^SIGTERM: draining(?!.*again)/)])
    const other = new Signals(new Bell(), log)
    process.emit('SIGINT', 'SIGINT')
    expect(asked(other)).toEqual([true, false])
    expect(said.at(-1)).toMatch(/^SIGINT: draining.*\(again: kill them/)
    // A live view has said it already.
    const levels: string[] = []
    new Signals(new Bell(), new Log('test', ({ level }) => levels.push(level)), { isWatched: true })
    vi.advanceTimersByTime(1_000)
    process.emit('SIGINT', 'SIGINT')
    expect(levels).toEqual(['debug'])
  })

  it('are named as the reason of the end, the first of them', () => {
    const signals = new Signals(new Bell(), silent)
    const part = signals.stop.part()
    expect(signals.stop.reason).toBeUndefined()
    press()
    vi.advanceTimersByTime(1_000)
    process.emit('SIGINT', 'SIGINT')
    expect([signals.stop.reason, part.because('another').reason]).toEqual(['SIGTERM', 'SIGTERM'])
    signals.newRound(true)
  })

  it('are one when a terminal and a parent pass on the same key press', () => {
    const signals = new Signals(new Bell(), silent)
    press()
    vi.advanceTimersByTime(20)
    press()
    expect(asked(signals)).toEqual([true, false])
  })

  it('count anew in a new round, however soon after those of the last', () => {
    const signals = new Signals(new Bell(), silent)
    press()
    expect(signals.newRound(true)).toBe(true)
    expect(asked(signals)).toEqual([false, false])
    vi.advanceTimersByTime(20)
    press()
    expect(asked(signals)).toEqual([true, false])
  })

  it('do not end a runner that has handed over before the newer one’s came: the first SIGTERM within 5 s is that', () => {
    const signals = new Signals(new Bell(), silent)
    signals.newRound(true)
    vi.advanceTimersByTime(1_000)
    press()
    expect(asked(signals)).toEqual([false, false])
    vi.advanceTimersByTime(1_000)
    press()
    expect(asked(signals)).toEqual([true, false])
  })

  it.each([
    ['one came before', true, 1_000],
    ['it is too late for that', false, 6_000],
  ])('are a person’s after a handover when %s', (_why, cameBefore, ms) => {
    const signals = new Signals(new Bell(), silent)
    if (cameBefore) press()
    signals.newRound(true)
    vi.advanceTimersByTime(ms)
    press()
    expect(asked(signals)).toEqual([true, false])
  })

  it('of somebody else beside the newer runner’s are not forgotten with the lead', () => {
    const signals = new Signals(new Bell(), silent)
    press()
    vi.advanceTimersByTime(1_000)
    press()
    expect(signals.newRound(true)).toBe(false)
    expect(asked(signals)).toEqual([true, true])
    const unsignalled = new Signals(new Bell(), silent)
    process.emit('SIGINT', 'SIGINT')
    expect(unsignalled.newRound(false)).toBe(false)
    expect(asked(unsignalled)).toEqual([true, false])
  })

  it('of a person count, though they come together with the newer runner’s', () => {
    const signals = new Signals(new Bell(), silent)
    press()
    process.emit('SIGINT', 'SIGINT')
    expect(signals.newRound(true)).toBe(false)
  })

  it.each([
    ['before', () => press(), () => {}],
    ['after', () => {}, () => press()],
  ])('do not count with a person’s when the newer runner’s comes %s its wish is known', (_when, first, then) => {
    const signals = new Signals(new Bell(), silent)
    first()
    signals.expectOne()
    vi.advanceTimersByTime(6_000)
    then()
    expect(asked(signals)).toEqual([true, false])
    vi.advanceTimersByTime(1_000)
    process.emit('SIGINT', 'SIGINT')
    expect(asked(signals)).toEqual([true, false])
    expect(signals.newRound(true)).toBe(false)
    vi.advanceTimersByTime(1_000)
    process.emit('SIGINT', 'SIGINT')
    expect(asked(signals)).toEqual([true, true])
  })

  it('are a person’s again when the newer runner is gone before its own came', () => {
    const signals = new Signals(new Bell(), silent)
    signals.newRound(true)
    signals.expectNone()
    press()
    expect(asked(signals)).toEqual([true, false])
  })

  it('that come late for one handover are not taken for those of the next', () => {
    const signals = new Signals(new Bell(), silent)
    signals.newRound(true)
    press() // That of the first newer runner, which is late.
    expect(signals.newRound(true)).toBe(true)
    press() // That of the second.
    expect(asked(signals)).toEqual([false, false])
  })
})
