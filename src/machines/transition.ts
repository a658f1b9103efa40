import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../db/database.ts'
import { type Claimed, ClaimLost, type Owner } from './claim.ts'
import type { EventOf, LiveState, Machine, Target } from './define.ts'

/** The claim after a transition: in the new state; none when that state is final. */
export type Moved<M extends Machine, To> = To extends LiveState<M> ? Claimed<M, To> : undefined

/**
 * Moves a claimed row along one edge of its graph: one guarded UPDATE (id, state, token) that also writes the transition row.
 * Entering a final state ends the claim and the schedule. Throws ClaimLost when the row is not ours, or not in that state, any more.
 * @param db the pool or an open transaction
 * @param also further assignments, such as sql`started_at = now()`
 * @param guard a further condition; when it does not hold, ClaimLost
 */
export async function transition<M extends Machine, S extends LiveState<M>, const E extends EventOf<M, S>>(
  owner: Owner,
  claim: Claimed<M, S>,
  event: E,
  options: { readonly db?: Database; readonly also?: RawBuilder<unknown>; readonly guard?: RawBuilder<unknown> } = {},
): Promise<Moved<M, Target<M, S, E>>> {
  const { machine, id, token, state } = claim
  const target = machine.states[state]!.on![event]!
  const final = machine.states[target]!.final === true
  const ending = final ? sql`, retry_at = null, claim_token = null, claimed_by = null, sealed_at = now()` : sql``
  const also = options.also ? sql`, ${options.also}` : sql``
  const { rows } = await sql<{ id: string }>`
    with moved as (
      update ${sql.table(machine.table)} set status = ${target}, modified_at = now()${ending}${also}
      where id = ${id} and claim_token = ${token} and status = ${state} and ${options.guard ?? sql`true`}
      returning id
    ), logged as (
      insert into transition (model, row_id, from_status, to_status, event, process_id)
      select ${machine.name}, id, ${state}, ${target}, ${event}, ${owner.processId} from moved
    )
    select id from moved`.execute(options.db ?? owner.home.db)
  if (rows.length !== 1) throw new ClaimLost(`${machine.name} ${id}: ${state} -${event}-> ${target}`)
  return (final ? undefined : { ...claim, state: target }) as Moved<M, Target<M, S, E>>
}
