import { uptime } from 'node:os'
import { UNSEEN_SECONDS } from '../db/heartbeats.ts'
import type { Home } from '../db/home.ts'
import { lastRowOfPid, liveRowById, liveRowOf } from '../db/process-rows.ts'
import { identityIn, type LiveRow, liveRows } from '../db/processes.ts'
import { identityOf, livenessOf, type ProcessIdentity } from './identity.ts'
import { MARKER } from './marks.ts'
import { bootId } from './proc.ts'

export type Presence = 'there' | 'unseen' | 'gone'

/**
 * Whether the process of this row is alive. `unseen`: it lives where we cannot look, as far as its heartbeat tells. A
 * row without an identity is a process between its announcement and its start, and not there yet.
 */
export async function presenceOf(home: Pick<Home, 'machineId'>, row: LiveRow): Promise<Presence> {
  const identity = identityIn(row)
  if (!identity) return 'gone'
  const liveness = livesElsewhere(home, row, identity) ? 'unknown' : await livenessOf(identity)
  if (liveness !== 'unknown') return liveness === 'alive' ? 'there' : 'gone'
  return silenceOf(row) < UNSEEN_SECONDS ? 'unseen' : 'gone'
}

/**
 * An earlier boot of this machine is over; a boot id of another machine tells nothing (containers with their own names
 * share our boot). Cloned machines have one id: a process that gave a sign of life since our boot began belongs to a
 * clone, not to an earlier boot.
 */
function livesElsewhere(home: Pick<Home, 'machineId'>, row: LiveRow, identity: ProcessIdentity): boolean {
  const silence = silenceOf(row)
  // A heartbeat from the future: the clock was set back since, so it does not tell when that was.
  const sinceBoot = silence >= 0 && silence < uptime()
  return identity.bootId !== bootId() && (row.machine_id !== home.machineId || sinceBoot)
}

function silenceOf(row: LiveRow): number {
  return row.heartbeat_age_s ?? Number.POSITIVE_INFINITY
}

/** The rows of this data dir whose process is alive, or cannot be seen from here; the oldest first. */
export async function presentRows(home: Home): Promise<LiveRow[]> {
  const present: LiveRow[] = []
  for (const row of await liveRows(home)) if ((await presenceOf(home, row)) !== 'gone') present.push(row)
  return present
}

/** The row of the process that has this pid now, by its exact identity; else of the last one that had it. */
export async function rowByPid(home: Home, pid: number): Promise<LiveRow | undefined> {
  const identity = await identityOf(pid)
  return (identity && (await liveRowOf(home, identity))) ?? (await lastRowOfPid(home, pid))
}

/** The id of the open row of the process that started us (such as a hook), by the mark in our environment. */
export async function startedBy(home: Home): Promise<string | null> {
  const id = process.env[MARKER.process]
  return (id && (await liveRowById(home, id))?.id) || null
}
