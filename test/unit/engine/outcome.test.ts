import { describe, expect, it } from 'vitest'
import { backoff } from '../../../src/base/backoff.ts'
import { handlerFor } from '../../../src/engine/giving-up.ts'
import { again, defineMachine, FAILED, ForeignOutcome, PUT_BACK } from '../../../src/engine/index.ts'
import { RETRY, retryOf, stepOf } from '../../../src/engine/outcome.ts'

const machine = defineMachine({
  name: 'job',
  table: 'job',
  columns: { attempts: 'attempts' },
  initial: 'queued',
  states: {
    queued: {
      on: { start: 'started', hold: 'held', poll: 'queued' },
      retryAfterMs: 90_000,
      giveUp: { after: 3, to: 'failed' },
    },
    started: { on: { finish: 'done' }, startAfterMs: 250, retryAfterMs: 1_000 },
    held: { on: { go: 'queued' }, external: true },
    done: { final: true },
    failed: { final: true },
  },
})
const step = (outcome: unknown, attempts = 1, state = 'queued') => stepOf(machine, { state, attempts }, outcome)

describe('where an outcome leads', () => {
  it('an event leads along its edge, due when its target says, with a fresh count of attempts', () => {
    expect(step('start', 2)).toEqual({ from: 'queued', to: 'started', event: 'start', afterSeconds: 0.25, attempts: 0 })
    expect(step('finish', 1, 'started')).toMatchObject({ to: 'done', afterSeconds: null })
    expect(step('hold')).toMatchObject({ to: 'held', afterSeconds: Number.POSITIVE_INFINITY })
    expect(step('poll')).toMatchObject({ to: 'queued', event: 'poll', afterSeconds: 0 })
  })

  it('"again", or nothing, leads back after retryAfterMs in seconds, not days; an attempt that ended cleanly does not count', () => {
    for (const outcome of [undefined, again()]) {
      expect(step(outcome, 3)).toEqual({ from: 'queued', to: 'queued', event: '', afterSeconds: 90, attempts: 0 })
    }
    expect(step(again(1_500))).toMatchObject({ afterSeconds: 1.5 })
    expect(step(again(0))).toMatchObject({ afterSeconds: 0 })
  })

  it.each([
    'finish',
    'give_up',
    'toString',
    '',
    null,
    0,
    true,
    {},
    { again: false },
    { again: true, afterMs: -1 },
    { again: true, afterMs: Number.NaN },
    { again: true, afterMs: 1e300 },
    { failed: true },
    { putBack: true },
    Symbol('x'),
  ])('%s is foreign, and the error names graph and state', (outcome) => {
    expect(() => step(outcome)).toThrow(ForeignOutcome)
    expect(() => step(outcome)).toThrow('state graph "job": state "queued" does not offer')
  })

  it('a failure leads back later and later, and along giveUp after as many as the state allows', () => {
    const first = step(FAILED, 1)
    expect(first).toMatchObject({ to: 'queued', event: '', attempts: 1 })
    expect(first.afterSeconds).toBeGreaterThanOrEqual(72)
    expect(first.afterSeconds).toBeLessThanOrEqual(108)
    expect(step(FAILED, 2).afterSeconds).toBeGreaterThanOrEqual(144)
    expect(step(FAILED, 3)).toEqual({ from: 'queued', to: 'failed', event: 'give_up', afterSeconds: null, attempts: 0 })
    expect(step(FAILED, 50, 'started')).toMatchObject({ to: 'started' })
    const tick = async () => {}
    expect([3, 4].map((attempts) => handlerFor({ machine, tick }, { state: 'queued', attempts }))).toEqual([
      tick,
      undefined,
    ])
  })

  it('what was only put back is due at once, and the attempt does not count', () => {
    expect(step(PUT_BACK, 2)).toEqual({ from: 'queued', to: 'queued', event: '', afterSeconds: 0, attempts: 1 })
  })
})

describe('the delay after a failure', () => {
  it('doubles with each attempt', () => {
    expect([1, 2, 3, 4].map((attempts) => backoff(attempts, retryOf(1_000), 0.5))).toEqual([1_000, 2_000, 4_000, 8_000])
  })

  it('is spread by a fifth', () => {
    expect([0, 1].map((random) => backoff(1, retryOf(1_000), random))).toEqual([800, 1_200])
  })

  it('is capped, but never shorter than the state asks for', () => {
    expect(backoff(5_000, retryOf(1_000), 0.5)).toBe(RETRY.maxMs)
    expect(backoff(5, retryOf(86_400_000), 0.5)).toBe(86_400_000)
  })

  it('is a second where the state names none', () => {
    expect(backoff(1, retryOf(undefined), 0.5)).toBe(1_000)
  })
})
