import { identityIn, type LiveRow } from '../db/processes.ts'
import { livenessOf } from './identity.ts'

/** A process that we cannot see (in another container) counts as there for as long as its heartbeat is this fresh, by the database's clock. */
const UNSEEN_SECONDS = 30

/**
 * Is the process of this row there? `unseen`: it lives in another container, as far as its heartbeat tells.
 * A row without identity is a process between its announcement and its start, and not there yet.
 */
export async function presenceOf(row: LiveRow): Promise<'there' | 'unseen' | 'gone'> {
  const identity = identityIn(row)
  const liveness = identity ? await livenessOf(identity) : 'gone'
  if (liveness !== 'unknown') return liveness === 'alive' ? 'there' : 'gone'
  return (row.heartbeat_age_s ?? Number.POSITIVE_INFINITY) < UNSEEN_SECONDS ? 'unseen' : 'gone'
}
