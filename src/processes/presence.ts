import type { Home } from '../db/home.ts'
import { identityIn, type LiveRow, liveRows } from '../db/processes.ts'
import { livenessOf } from './identity.ts'
import { bootId } from './proc.ts'

/** A process that we cannot see (in another container, on another machine) counts as there for as long as its heartbeat is this fresh, by the database's clock. */
const UNSEEN_SECONDS = 30

export type Presence = 'there' | 'unseen' | 'gone'

/**
 * Is the process of this row there? `unseen`: it lives where we cannot look, as far as its heartbeat tells.
 * A row without identity is a process between its announcement and its start, and not there yet.
 */
export async function presenceOf(home: Pick<Home, 'machineId'>, row: LiveRow): Promise<Presence> {
  const identity = identityIn(row)
  if (!identity) return 'gone'
  // Another boot of this machine is over. Of another machine it says nothing; containers with names of their own share our boot.
  const elsewhere = row.machine_id !== home.machineId && identity.bootId !== bootId()
  const liveness = elsewhere ? 'unknown' : await livenessOf(identity)
  if (liveness !== 'unknown') return liveness === 'alive' ? 'there' : 'gone'
  return (row.heartbeat_age_s ?? Number.POSITIVE_INFINITY) < UNSEEN_SECONDS ? 'unseen' : 'gone'
}

/** The rows of this data dir whose process is there, or cannot be seen from here; the oldest first. */
export async function presentRows(home: Home): Promise<LiveRow[]> {
  const present: LiveRow[] = []
  for (const row of await liveRows(home)) if ((await presenceOf(home, row)) !== 'gone') present.push(row)
  return present
}
