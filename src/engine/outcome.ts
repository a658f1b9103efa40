import { inspect } from 'node:util'
import { type Backoff, backoff } from '../base/backoff.ts'
import type { SomeClaim } from './claimed.ts'
import type { EventOf, LiveState, Machine, WorkState } from './machine.ts'

/**
 * What becomes of a claimed row: an event that its state offers, or "not yet": due again after `afterMs`, or the
 * state's `retryAfterMs`.
 */
export type Outcome<M extends Machine, S extends LiveState<M> = WorkState<M>> = EventOf<M, S> | Again
export interface Again {
  readonly again: true
  readonly afterMs?: number
}

/**
 * What becomes of a row whose handler failed: due again later and later, or, after too many attempts, along the state's
 * `giveUp`. With `afterMs` it stays, due again after so long, and the attempt counts.
 */
export class Failed {
  readonly afterMs: number | undefined
  constructor(afterMs?: number) {
    this.afterMs = afterMs
  }
}

/**
 * What becomes of a row that was claimed, but not worked on: due after `afterMs`, or at once; the attempt does not
 * count.
 */
export class PutBack {
  readonly afterMs: number
  constructor(afterMs = 0) {
    this.afterMs = afterMs
  }
}

/** The handler has ended its claim itself, in a transaction of its own, say: nothing is left to be written. */
export interface Ended {
  readonly ended: true
}

export const FAILED = new Failed()
export const PUT_BACK = new PutBack()
export const ENDED: Ended = { ended: true }

/** It failed, and stays: due again after so long, and the attempt counts. */
export function failed(afterMs: number): Failed {
  return new Failed(afterMs)
}

/** Nothing came of it, and it is not to blame: due again after so long. */
export function putBack(afterMs: number): PutBack {
  return new PutBack(afterMs)
}

/** "Not yet": the row stays in its state and is due again later. */
export function again(afterMs?: number): Again {
  return afterMs === undefined ? { again: true } : { again: true, afterMs }
}

/** Thrown out of the depths of a handler, means what `again(afterMs)` means when it is returned. */
export class TryAgainLater extends Error {
  override readonly name = 'TryAgainLater'
  readonly afterMs: number | undefined
  constructor(afterMs?: number) {
    super('try again later')
    this.afterMs = afterMs
  }
}

/** A handler returned what its state does not offer. */
export class ForeignOutcome extends Error {
  override readonly name = 'ForeignOutcome'
}

/**
 * Where an outcome leads. `event`: '' when the row stays where it is. `afterSeconds`: until it is due there; null:
 * never again.
 */
export interface Step {
  readonly from: string
  readonly to: string
  readonly event: string
  readonly afterSeconds: number | null
  /** What the row's count of attempts is from then on. */
  readonly attempts: number
}

/**
 * How a failed row waits whose state does not say for how long; a `retryAfterMs` above the longest wait is never cut.
 */
export const RETRY: Required<Backoff> = { baseMs: 1_000, maxMs: 3_600_000, jitter: 0.2 }

/** No schedule is further away: what is longer is an error in somebody's arithmetic. */
const LONGEST_MS = 100 * 365 * 86_400_000

/**
 * Where an outcome leads a claimed row. Throws ForeignOutcome for one that its state does not offer.
 * @param outcome what a handler answered, whatever it is
 */
export function stepOf(
  machine: Machine,
  { state, attempts }: Pick<SomeClaim, 'state' | 'attempts'>,
  outcome: unknown,
): Step {
  const { retryAfterMs, giveUp, on } = machine.states[state] ?? {}
  const stay = { from: state, to: state, event: '' }
  if (outcome instanceof PutBack && isDelay(outcome.afterMs))
    return { ...stay, afterSeconds: outcome.afterMs / 1000, attempts: Math.max(0, attempts - 1) }
  if (outcome instanceof Failed && isDelay(outcome.afterMs)) {
    const { afterMs = backoff(attempts, retryOf(retryAfterMs)) } = outcome
    const isGivenUp = giveUp && attempts >= giveUp.after && outcome.afterMs === undefined
    return isGivenUp ? enter(machine, state, 'give_up', giveUp.to) : { ...stay, afterSeconds: afterMs / 1000, attempts }
  }
  if (typeof outcome === 'string' && on && Object.hasOwn(on, outcome))
    return enter(machine, state, outcome, on[outcome]!)
  const asked = outcome === undefined ? again() : outcome
  if (isAgain(asked)) return { ...stay, afterSeconds: (asked.afterMs ?? retryAfterMs ?? 0) / 1000, attempts: 0 }
  const shown =
    typeof outcome === 'string'
      ? `the event "${outcome}"`
      : inspect(outcome, { depth: 1, breakLength: Number.POSITIVE_INFINITY })
  throw new ForeignOutcome(`state graph "${machine.name}": state "${state}" does not offer ${shown}`)
}

/** How a failed row of a state with this `retryAfterMs` waits. */
export function retryOf(retryAfterMs: number = RETRY.baseMs): Backoff {
  return { ...RETRY, baseMs: retryAfterMs, maxMs: Math.max(RETRY.maxMs, retryAfterMs) }
}

/** Has this row been claimed more often in vain than its state allows? Then it is not worked on again. */
export function isLethal(machine: Machine, { state, attempts }: Pick<SomeClaim, 'state' | 'attempts'>): boolean {
  return attempts > (machine.states[state]?.giveUp?.after ?? Number.POSITIVE_INFINITY)
}

function isAgain(outcome: unknown): outcome is Again {
  if (typeof outcome !== 'object' || outcome === null || !('again' in outcome) || outcome.again !== true) return false
  return isDelay((outcome as Again).afterMs)
}

const isDelay = (ms = 0) => ms >= 0 && ms <= LONGEST_MS

function enter(machine: Machine, from: string, event: string, to: string): Step {
  const { final, external, startAfterMs } = machine.states[to]!
  const afterSeconds = final ? null : external ? Number.POSITIVE_INFINITY : (startAfterMs ?? 0) / 1000
  return { from, to, event, afterSeconds, attempts: 0 }
}
