import { backoff } from '../base/backoff.ts'
import type { SomeClaim } from './claimed.ts'
import type { AnyHandler, Model } from './handlers.ts'
import type { Machine } from './machine.ts'
import { FAILED, failed, retryOf, type Step, stepOf } from './outcome.ts'

type Counted = Pick<SomeClaim, 'state' | 'attempts'>

/**
 * The handler that runs for a row. A row that has ended too many owners is given up: by the model's `giveUp`, or,
 * without one or when that has failed too often as well, by its graph alone, without running anything.
 */
export function handlerFor({ machine, tick, giveUp }: Model, claim: Counted): AnyHandler | undefined {
  if (!isLethal(machine, claim)) return tick
  return isSpent(machine, claim) ? undefined : giveUp
}

/**
 * Where an answer leads. When work precedes the giving up of a row, a failure alone does not give it up; the next claim
 * does. That work has as many attempts as the row had, with delays that grow anew. Throws as `stepOf`.
 */
export function stepAfter({ machine, giveUp }: Model, claim: Counted, answer: unknown): Step {
  const isGivenUp = isLethal(machine, claim)
  if (giveUp && answer === undefined && isGivenUp) return stepOf(machine, claim, FAILED)
  if (!giveUp || answer !== FAILED || isSpent(machine, { ...claim, attempts: claim.attempts + 1 }))
    return stepOf(machine, claim, answer)
  const { retryAfterMs, giveUp: { after = 0 } = {} } = machine.states[claim.state] ?? {}
  const attempts = isGivenUp ? claim.attempts - after : claim.attempts
  return stepOf(machine, claim, failed(backoff(attempts, retryOf(retryAfterMs))))
}

const mostOf = (machine: Machine, state: string) => machine.states[state]?.giveUp?.after ?? Number.POSITIVE_INFINITY

/** Whether this row was claimed in vain more often than its state allows. */
const isLethal = (machine: Machine, { state, attempts }: Counted) => attempts > mostOf(machine, state)

/** Whether giving it up has failed, too, as often as the work before. Then it moves along `giveUp` without running. */
const isSpent = (machine: Machine, { state, attempts }: Counted) => attempts > 2 * mostOf(machine, state)
