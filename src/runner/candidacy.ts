import { goToGate, type Place } from '../db/runners.ts'
import { holdOffToRespect } from './lead-hold-off.ts'
import type { RunOptions } from './options.ts'
import { ownerOf } from './ownership.ts'
import {
  type Resumed,
  type StandbyOptions,
  standbyUntilForegroundRunnerNeeded,
  standbyUntilHoldOffIsOver,
  standbyUntilNewerLeads,
  standbyUntilRunnerNeeded,
} from './standby-until.ts'

/** What a runner waits for before it comes to the gate. */
export interface Candidacy {
  /** The command whose daemon we are: we lead only while it may have the runner. */
  readonly ownerId: string | undefined
  /** Wait until no other runner is left, or until a newer one leads, instead of taking over. */
  readonly waitsFor?: 'others' | 'newer' | undefined
  /** There may be something to wait for: we begin as a standby, which no other runner minds. */
  readonly standby: boolean
  /** A newer runner only borrows the lead from us: we stand by, and do not leave. */
  readonly yieldsLead: boolean
}

/**
 * A daemon belongs to the live command that it works for; a runner that stands on its own, or leaves when its work is
 * done, belongs to nobody.
 */
export async function candidacyOf(options: RunOptions): Promise<Candidacy> {
  const { home, standby, stays, daemon, exitOnIdle, parentId } = options
  const owner = daemon && !exitOnIdle && parentId ? await ownerOf(home, parentId) : undefined
  const holdOff = await holdOffToRespect(home)
  return {
    ownerId: owner?.id,
    waitsFor: standby ? 'others' : undefined,
    standby: standby || owner !== undefined || holdOff !== undefined,
    yieldsLead: standby || stays || owner !== undefined,
  }
}

/**
 * Stands by until it is our turn to come to the gate, or we are told to stop.
 * @returns our place in line at the gate; undefined when it will not come, since a newer runner leads
 */
export async function waitForTurn(
  options: StandbyOptions,
  me: Place,
  candidacy: Candidacy,
): Promise<Place | undefined> {
  if (!candidacy.standby) return me
  const waits: Resumed[] = []
  if (candidacy.ownerId) waits.push(await standbyUntilForegroundRunnerNeeded(options, candidacy.ownerId))
  if (candidacy.waitsFor === 'newer') {
    const newer = await standbyUntilNewerLeads(options, me)
    if (newer.leads) return undefined
    waits.push(newer)
  } else if (candidacy.waitsFor === 'others') waits.push(await standbyUntilRunnerNeeded(options, me))
  else waits.push(await standbyUntilHoldOffIsOver(options))
  if (options.stop.drain.aborted) return me
  // To go before a newer runner that has fallen silent we become the newest.
  const hasPassed = waits.some(({ passed }) => passed.some((row) => !row.standby))
  return await goToGate(options.home, me, hasPassed)
}
