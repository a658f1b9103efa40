import { uptime } from 'node:os'
import { UNSEEN_SECONDS } from '../db/heartbeats.ts'
import type { Home } from '../db/home.ts'
import { identityIn, type LiveRow, liveRows } from '../db/processes.ts'
import { livenessOf, type ProcessIdentity } from './identity.ts'
import { bootId } from './proc.ts'

export type Presence = 'there' | 'unseen' | 'gone'

/**
 * Is the process of this row there? `unseen`: it lives where we cannot look, as far as its heartbeat tells.
 * A row without identity is a process between its announcement and its start, and not there yet.
 */
export async function presenceOf(home: Pick<Home, 'machineId'>, row: LiveRow): Promise<Presence> {
  const identity = identityIn(row)
  if (!identity) return 'gone'
  const liveness = livesElsewhere(home, row, identity) ? 'unknown' : await livenessOf(identity)
  if (liveness !== 'unknown') return liveness === 'alive' ? 'there' : 'gone'
  return silenceOf(row) < UNSEEN_SECONDS ? 'unseen' : 'gone'
}

/**
 * Another boot of this machine is over; of another machine it says nothing (containers with names of their own share our boot). Cloned
 * machines have one id: whoever was heard of since our boot began is no process of an earlier one, but of a clone.
 */
function livesElsewhere(home: Pick<Home, 'machineId'>, row: LiveRow, identity: ProcessIdentity): boolean {
  const silence = silenceOf(row)
  // Heard of in the future: by a clock that was set back since, which says nothing about when.
  const sinceBoot = silence >= 0 && silence < uptime()
  return identity.bootId !== bootId() && (row.machine_id !== home.machineId || sinceBoot)
}

function silenceOf(row: LiveRow): number {
  return row.heartbeat_age_s ?? Number.POSITIVE_INFINITY
}

/** The rows of this data dir whose process is there, or cannot be seen from here; the oldest first. */
export async function presentRows(home: Home): Promise<LiveRow[]> {
  const present: LiveRow[] = []
  for (const row of await liveRows(home)) if ((await presenceOf(home, row)) !== 'gone') present.push(row)
  return present
}
