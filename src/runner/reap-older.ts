import { failpoint } from '../base/failpoint.ts'
import type { Log } from '../base/log.ts'
import type { Home } from '../db/home.ts'
import { isRunner, type LiveRow, liveRows, noteStuck } from '../db/processes.ts'
import { type Place, terminateBackendsOf } from '../db/runners.ts'
import { lostLeaderIn } from '../db/terms.ts'
import { CannotEnd, rowsOfSurvivors } from '../processes/cannot-end.ts'
import { killFamily, membersOf } from '../processes/family.ts'
import { familyOfRows } from '../processes/family-of-rows.ts'
import { MARKER } from '../processes/marks.ts'
import { presenceOf } from '../processes/presence.ts'
import { bootId, pidNamespace } from '../processes/proc.ts'
import { stuckPid } from '../workers/supervise/reap.ts'

export interface Reaped {
  readonly open: readonly LiveRow[]
  /** The ids of rows whose processes cannot be ended: only their own pages wait for them. */
  readonly stuck: ReadonlySet<string>
}

/**
 * Before the promotion: kills and confirms everything that still carries the mark of an older runner, and ends those
 * runners' database sessions. It spares a live runner: one that stands by may have worked before, and its remains are
 * not the runner itself.
 * @returns the rows that are open then; undefined, and nothing ended, when another runner has come to the gate
 */
export async function reapOlder(home: Home, log: Log, me: Place): Promise<Reaped | undefined> {
  const open = await liveRows(home)
  const rows = open.filter((row) => row.id !== me.id)
  const there = new Set<string>()
  for (const row of rows.filter(isRunner)) {
    if ((await presenceOf(home, row)) === 'gone') continue
    if (!row.standby) return undefined
    there.add(row.id)
  }
  const runners = new Set<string>()
  for (const row of rows) {
    if (isRunner(row) && !there.has(row.id)) runners.add(row.id)
    if (row.runner_id) runners.add(row.runner_id)
  }
  const lost = await lostLeaderHere(home)
  if (lost) runners.add(lost)
  runners.delete(me.id)
  if (runners.size === 0) return { open, stuck: new Set() }
  const below = rows.filter((row) => runners.has(row.runner_id ?? row.id) && !there.has(row.id))
  const stuck = await killAllOf(home, log, runners, below)
  const gone = [...runners].filter((id) => !there.has(id))
  await terminateBackendsOf(home, gone)
  await failpoint('gate.backends_ended')
  return { open: await liveRows(home), stuck }
}

/** The last leader of this boot and PID namespace, if it ended unseen; see `lostLeaderIn`. */
export async function lostLeaderHere(home: Home): Promise<string | undefined> {
  return await lostLeaderIn(home, { bootId: bootId(), pidNamespace: pidNamespace() })
}

/** Kills what runs on behalf of these runners, by their marks and by rows. @returns the rows of what survives */
async function killAllOf(
  home: Home,
  log: Log,
  runners: ReadonlySet<string>,
  rows: readonly LiveRow[],
): Promise<ReadonlySet<string>> {
  const markers = [...runners].flatMap((id) => [`${MARKER.runner}=${id}`, `${MARKER.guardian}=${id}`])
  const family = { ...familyOfRows(rows), markers }
  const known = rows.filter((row) => !isRunner(row) && row.blocked_reason !== null)
  const found = (await membersOf(family)).length
  if (found > known.length) log.warn(`ending ${found} processes that an earlier runner left behind`)
  const survivors = await killFamily(family, { stuck: known.flatMap(stuckPid) })
  await failpoint('gate.leftovers_killed')
  if (survivors.length === 0) return new Set()
  const why = new CannotEnd(survivors).message
  const stuck = rowsOfSurvivors(survivors, rows).map(({ id }) => id)
  await noteStuck(home.db, stuck, why)
  log.warn(`going on without what an earlier runner left behind: ${why}`)
  return new Set(stuck)
}
