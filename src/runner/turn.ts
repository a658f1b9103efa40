import { holdOffToRespect } from './lead-hold-off.ts'
import type { RunOptions } from './options.ts'
import { ownerOf } from './ownership.ts'
import { goToGate, type Registered } from './registration.ts'
import {
  type Resumed,
  type StandbyOptions,
  standbyUntilForegroundRunnerNeeded,
  standbyUntilHoldOffIsOver,
  standbyUntilRunnerNeeded,
} from './standby.ts'

/** Whom a runner lets go first, before it comes to the gate. */
export interface Turn {
  /** The command whose daemon we are: we lead only while it may have the runner. */
  readonly ownerId: string | undefined
  /** Wait until no other runner is left, instead of taking over. */
  readonly waitsForOthers: boolean
  /** There may be something to wait for: we begin as one that stands by, whom nobody minds. */
  readonly standby: boolean
  /** A newer runner only borrows the lead from us. */
  readonly yieldsLead: boolean
}

/** A daemon belongs to the live command that it works for; one that stands on its own, or leaves when its work is done, to nobody. */
export async function turnOf({ home, standby, daemon, exitOnIdle, parentId }: RunOptions): Promise<Turn> {
  const owner = daemon && !exitOnIdle && parentId ? await ownerOf(home, parentId) : undefined
  const fight = await holdOffToRespect(home)
  const yieldsLead = standby || owner !== undefined
  return { ownerId: owner?.id, waitsForOthers: standby, standby: yieldsLead || fight !== undefined, yieldsLead }
}

/** Stands by until it is our turn to come to the gate, or we are told to stop. Returns our row, with the place in line that we have there. */
export async function waitForTurn(options: StandbyOptions, me: Registered, turn: Turn): Promise<Registered> {
  if (!turn.standby) return me
  const waits: Resumed[] = []
  if (turn.ownerId) waits.push(await standbyUntilForegroundRunnerNeeded(options, turn.ownerId))
  waits.push(
    turn.waitsForOthers ? await standbyUntilRunnerNeeded(options, me) : await standbyUntilHoldOffIsOver(options),
  )
  if (options.stop.drain.aborted) return me
  const hasPassed = waits.some(({ passed }) => passed.some((row) => !row.standby))
  return await goToGate(options.home, me, hasPassed)
}
