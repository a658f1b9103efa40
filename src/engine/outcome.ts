import { inspect } from 'node:util'
import { type Backoff, backoff } from '../base/backoff.ts'
import type { SomeClaim } from './claimed.ts'
import type { EventOf, LiveState, Machine, WorkState } from './machine.ts'

/**
 * What becomes of a claimed row: an event of its state, or "not yet": due again after `afterMs`, or the state's
 * `retryAfterMs`.
 */
export type Outcome<M extends Machine, S extends LiveState<M> = WorkState<M>> = EventOf<M, S> | Again
export interface Again {
  readonly again: true
  readonly afterMs?: number
}

/**
 * The outcome of a failed handler: the row is due again with growing delay or, after too many attempts, moves along the
 * state's `giveUp`. With `afterMs` it stays, is due again after that time, and the attempt counts.
 */
export class Failed {
  readonly afterMs: number | undefined
  constructor(afterMs?: number) {
    this.afterMs = afterMs
  }
}

/** The outcome of a row that was claimed but not worked on: due again after `afterMs`; the attempt does not count. */
export class PutBack {
  readonly afterMs: number
  constructor(afterMs = 0) {
    this.afterMs = afterMs
  }
}

/**
 * The handler has ended its claim itself, for example in its own transaction: nothing remains to be written. `next`:
 * the claim that it made with the end (`queue.moveAndClaim`), which the actor works on next.
 */
export class Ended {
  readonly next: SomeClaim | undefined
  /** It released its row, in an unchanged state. */
  readonly isReleased: boolean
  constructor(next?: SomeClaim, isReleased = false) {
    this.next = next
    this.isReleased = isReleased
  }
}

export const FAILED = new Failed()
export const PUT_BACK = new PutBack()
export const ENDED = new Ended()
export const RELEASED = new Ended(undefined, true)

/** The work failed: the row stays, is due again after `afterMs`, and the attempt counts. */
export function failed(afterMs: number): Failed {
  return new Failed(afterMs)
}

/** The work could not be done, through no fault of the row: due again after `afterMs`. */
export function putBack(afterMs: number): PutBack {
  return new PutBack(afterMs)
}

/** "Not yet": the row stays in its state and is due again later. */
export function again(afterMs?: number): Again {
  return afterMs === undefined ? { again: true } : { again: true, afterMs }
}

/** Thrown from deep inside a handler, it means the same as returning `again(afterMs)`. */
export class TryAgainLater extends Error {
  override readonly name = 'TryAgainLater'
  readonly afterMs: number | undefined
  constructor(afterMs?: number) {
    super('try again later')
    this.afterMs = afterMs
  }
}

/** A handler returned something that its state does not offer. */
export class ForeignOutcome extends Error {
  override readonly name = 'ForeignOutcome'
}

/**
 * Where an outcome leads. `event`: '' when the row stays in its state. `afterSeconds`: until it is due; null: never.
 */
export interface Step {
  readonly from: string
  readonly to: string
  readonly event: string
  readonly afterSeconds: number | null
  /** The row's count of attempts from then on. */
  readonly attempts: number
}

/** The delays after failures when the state has no `retryAfterMs`; one above the longest delay is never reduced. */
export const RETRY: Required<Backoff> = { baseMs: 1_000, maxMs: 3_600_000, jitter: 0.2 }

/** The longest delay; a longer one is an arithmetic error. */
const LONGEST_MS = 100 * 365 * 86_400_000

/**
 * Where an outcome leads a claimed row. Throws ForeignOutcome for one that its state does not offer.
 * @param outcome what a handler returned, of any type
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

/** The delays after failures in a state with this `retryAfterMs`. */
export function retryOf(retryAfterMs: number = RETRY.baseMs): Backoff {
  return { ...RETRY, baseMs: retryAfterMs, maxMs: Math.max(RETRY.maxMs, retryAfterMs) }
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
