import type { RunOptions } from './options.ts'
import { ownerOf } from './ownership.ts'
import { goToGate, type Registered } from './registration.ts'
import {
  type Resumed,
  type StandbyOptions,
  standbyUntilForegroundRunnerNeeded,
  standbyUntilRunnerNeeded,
  standbyUntilTenureIsOver,
} from './standby.ts'
import { tenureToRespect } from './tenure.ts'

/** Whom a runner lets go first, before it comes to the gate. */
export interface Turn {
  /** The command whose daemon we are: we lead only while it may have the runner. */
  readonly ownerId: string | undefined
  /** Wait until no other runner is left, instead of taking over. */
  readonly patient: boolean
  /** There may be something to wait for: we begin as one that stands by, whom nobody minds. */
  readonly standby: boolean
  /** A newer runner only borrows the lead from us. */
  readonly lends: boolean
}

/** A daemon belongs to the live command that it works for; one that stands on its own, or leaves when its work is done, to nobody. */
export async function turnOf({ home, standby, daemon, exitOnIdle, parentId }: RunOptions): Promise<Turn> {
  const owner = daemon && !exitOnIdle && parentId ? await ownerOf(home, parentId) : undefined
  const fight = await tenureToRespect(home)
  const lends = standby || owner !== undefined
  return { ownerId: owner?.id, patient: standby, standby: lends || fight !== undefined, lends }
}

/** Stands by until it is our turn to come to the gate, or we are told to stop. Returns our row, with the place in line that we have there. */
export async function waitForTurn(options: StandbyOptions, me: Registered, turn: Turn): Promise<Registered> {
  if (!turn.standby) return me
  const waits: Resumed[] = []
  if (turn.ownerId) waits.push(await standbyUntilForegroundRunnerNeeded(options, turn.ownerId))
  waits.push(turn.patient ? await standbyUntilRunnerNeeded(options, me) : await standbyUntilTenureIsOver(options))
  if (options.stop.drain.aborted) return me
  const hasPassed = waits.some(({ passed }) => passed.some((row) => !row.standby))
  return await goToGate(options.home, me, hasPassed)
}
