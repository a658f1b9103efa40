import { holdOffToRespect } from './lead-hold-off.ts'
import type { RunOptions } from './options.ts'
import { ownerOf } from './ownership.ts'
import type { ReasonName } from './reasons-to-wait.ts'

/** How a runner gets the lead, and what it does when a newer one takes it. */
export interface Candidacy {
  /** The command whose daemon we are: we lead only while it may have the runner. */
  readonly ownerId: string | undefined
  /** The reasons to wait before we come to the gate, one after the other; none: we come at once, and take over. */
  readonly reasons: readonly ReasonName[]
  /** A newer runner only borrows the lead from us: we stand by until it is gone. Else we exit when it leads. */
  readonly yieldsLead: boolean
}

/**
 * Follows from this runner's options, its owner and the recent takeovers. A daemon belongs to the live command that it
 * works for; a standalone runner, or one that exits when its work is done, belongs to nobody.
 */
export async function candidacyOf(options: RunOptions): Promise<Candidacy> {
  const { home, standby, stays, daemon, exitOnIdle, parentId } = options
  const owner = daemon && !exitOnIdle && parentId ? await ownerOf(home, parentId) : undefined
  const waits = standby || owner !== undefined || (await holdOffToRespect(home)) !== undefined
  return {
    ownerId: owner?.id,
    reasons: waits ? inOrder(owner?.id, standby ? 'for others' : 'holds off') : [],
    yieldsLead: standby || stays || owner !== undefined,
  }
}

/** The candidacy of the same runner once a newer one has taken the lead from it, or keeps it from the gate. */
export function whenSuperseded({ ownerId, yieldsLead }: Candidacy): Candidacy {
  return { ownerId, yieldsLead, reasons: inOrder(ownerId, yieldsLead ? 'for others' : 'for a newer one to lead') }
}

function inOrder(ownerId: string | undefined, last: ReasonName): ReasonName[] {
  return ownerId === undefined ? [last] : ['for its owner', last]
}
