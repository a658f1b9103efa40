import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { aborted, Bell, sleep } from '../../../src/base/abort.ts'
import { Stop } from '../../../src/base/stop.ts'

/** Long enough that only a hanging test would see its end. */
const FOR_EVER = 1_000_000

/** Has it come to its end, now that everything that was ready has run? */
async function isOver(work: Promise<unknown>): Promise<boolean> {
  const turn = new Promise<false>((resolve) => setImmediate(() => setImmediate(() => resolve(false))))
  return await Promise.race([work.then(() => true as const), turn])
}

describe('a stop', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
  afterEach(() => void vi.useRealTimers())

  it('begins with nothing asked for', () => {
    const stop = new Stop()
    expect([stop.drain.aborted, stop.force.aborted, stop.capMs]).toEqual([false, false, Number.POSITIVE_INFINITY])
  })

  it('drains without force, and without a limit', () => {
    const stop = new Stop()
    stop.requestDrain()
    expect([stop.drain.aborted, stop.force.aborted, stop.capMs]).toEqual([true, false, Number.POSITIVE_INFINITY])
  })

  it('forces with a drain that has no time left', () => {
    const stop = new Stop()
    stop.requestForce()
    expect([stop.drain.aborted, stop.force.aborted, stop.capMs]).toEqual([true, true, 0])
  })

  it('may become shorter, never longer', () => {
    const stop = new Stop()
    stop.requestDrain(500)
    stop.requestDrain(800)
    stop.requestDrain()
    expect(stop.capMs).toBe(500)
    stop.requestDrain(200)
    expect(stop.capMs).toBe(200)
    vi.advanceTimersByTime(150)
    expect(stop.capMs, 'the time runs').toBe(50)
    stop.requestForce()
    stop.requestDrain(800)
    expect(stop.capMs).toBe(0)
  })

  it('tells its watchers when it begins and when it becomes shorter, and only then', () => {
    const stop = new Stop()
    const seen: number[] = []
    stop.watch(() => seen.push(stop.capMs))
    expect(seen).toEqual([])
    stop.requestDrain()
    stop.requestDrain()
    stop.requestDrain(500)
    stop.requestDrain(500)
    stop.requestDrain(900)
    stop.requestForce()
    stop.requestForce()
    expect(seen).toEqual([Number.POSITIVE_INFINITY, 500, 0])
  })

  it('tells a watcher who comes late at once, and one who left nothing more', () => {
    const stop = new Stop()
    stop.requestDrain(500)
    const seen: number[] = []
    const unwatch = stop.watch(() => seen.push(stop.capMs))
    expect(seen).toEqual([500])
    unwatch()
    unwatch()
    stop.requestForce()
    expect(seen).toEqual([500])
  })

  it('has the new limit and the aborted signal in place when its watchers look', () => {
    const stop = new Stop()
    const seen: unknown[] = []
    stop.watch(() => seen.push([stop.drain.aborted, stop.capMs]))
    stop.requestDrain(300)
    expect(seen).toEqual([[true, 300]])
  })

  it.each<[string, (stop: Stop) => void, boolean]>([
    ['nothing was asked', () => {}, false],
    ['a drain without a limit, which a signal is', (stop) => stop.requestDrain(), false],
    ['a drain in a hurry, which a newer runner asks for', (stop) => stop.requestDrain(500), true],
    ['a drain that its caller explains', (stop) => stop.requestDrain(Number.POSITIVE_INFINITY, true), true],
    ['a force of our own', (stop) => stop.requestForce(), true],
    ['a force that anybody may have brought about', (stop) => stop.requestForce(false), false],
    ['the same in a drain that was explained', (stop) => [stop.requestDrain(500), stop.requestForce(false)], true],
    ['the same before a newer runner asks', (stop) => [stop.requestForce(false), stop.requestDrain(500)], true],
  ])('is explained, and its parts with it, or not: %s', (_what, ask, isExplained) => {
    const stop = new Stop()
    const early = stop.part()
    ask(stop)
    expect([stop, early, stop.part()].map((one) => one.isExplained)).toEqual([isExplained, isExplained, isExplained])
  })

  it('aborts its signals once, for whoever listens', () => {
    const stop = new Stop()
    let drains = 0
    let forces = 0
    stop.drain.addEventListener('abort', () => (drains += 1))
    stop.force.addEventListener('abort', () => (forces += 1))
    for (let i = 0; i < 3; i += 1) stop.requestForce()
    expect([drains, forces]).toEqual([1, 1])
  })
})

describe('a bell', () => {
  it('ends a wait that is under way', async () => {
    const bell = new Bell()
    const waiting = bell.wait(FOR_EVER)
    expect(await isOver(waiting)).toBe(false)
    bell.wake()
    await waiting
  })

  it('remembers one ring for the next wait, and not for the one after', async () => {
    const bell = new Bell()
    bell.wake()
    bell.wake()
    await bell.wait(FOR_EVER)
    const next = bell.wait(FOR_EVER)
    expect(await isOver(next)).toBe(false)
    bell.wake()
    await next
  })

  it('is silent again after it has woken somebody', async () => {
    const bell = new Bell()
    const first = bell.wait(FOR_EVER)
    bell.wake()
    await first
    const second = bell.wait(FOR_EVER)
    expect(await isOver(second)).toBe(false)
    bell.wake()
    await second
  })

  it('does not wait longer than it is told', async () => {
    await new Bell().wait(1)
  })

  it('does not wait when the signal is aborted already, and stops when it aborts', async () => {
    const bell = new Bell()
    await bell.wait(FOR_EVER, AbortSignal.abort())
    const stop = new AbortController()
    const waiting = bell.wait(FOR_EVER, stop.signal)
    stop.abort()
    await waiting
    // The end of a wait by signal is no ring.
    const next = bell.wait(FOR_EVER)
    expect(await isOver(next)).toBe(false)
    bell.wake()
    await next
  })

  it('leaves no listener and no timer behind, however a wait ends', async () => {
    const { signal } = new AbortController()
    const listeners = new Set<unknown>()
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)]
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners.add(args[1])
      add(...args)
    }
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners.delete(args[1])
      remove(...args)
    }
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const before = timers()
    const bell = new Bell()
    for (let i = 0; i < 20; i += 1) {
      const waiting = bell.wait(i % 2 === 0 ? FOR_EVER : 0, signal)
      if (i % 2 === 0) bell.wake()
      await waiting
    }
    expect(listeners.size).toBe(0)
    expect(timers()).toBeLessThanOrEqual(before)
  })
})

describe('sleep', () => {
  it('ends by itself, at an abort, and at once when it was aborted before; it never throws', async () => {
    await sleep(1)
    await sleep(FOR_EVER, AbortSignal.abort())
    const stop = new AbortController()
    const sleeping = sleep(FOR_EVER, stop.signal)
    expect(await isOver(sleeping)).toBe(false)
    stop.abort(new Error('why'))
    await sleeping
  })
})

describe('aborted', () => {
  it('resolves when the signal aborts, and at once when it has', async () => {
    await aborted(AbortSignal.abort())
    const stop = new AbortController()
    const waiting = aborted(stop.signal)
    expect(await isOver(waiting)).toBe(false)
    stop.abort()
    await waiting
  })
})
