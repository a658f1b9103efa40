import { join } from 'node:path'
import { failpoint } from '../base/failpoint.ts'
import type { Home } from '../db/home.ts'
import { childRows } from '../db/process-rows.ts'
import { type HookTarget, isRunner, liveRows, markEnded, supervisorsOfHooks, worksElsewhere } from '../db/processes.ts'
import { transact } from '../db/retry.ts'
import { type Owner, requeueClaimsOf } from '../machines/queues.ts'
import { cgroupIn } from '../processes/containment/cgroup.ts'
import { killFamily, MARKER, marksOf } from '../processes/family.ts'
import { familyOfRows } from '../processes/family-of-rows.ts'
import { descendantsAmong } from '../processes/registry/relatives.ts'

/**
 * After a worker died without tidying up: kills everything below it, whatever rows are left of that, waits until the
 * operating system says that it is gone, closes the rows, and makes due again what they had claimed. In this order:
 * nothing may start while the old attempt can still write.
 * @returns how many claims are due again
 */
export async function reapWorker(
  home: Home,
  processId: string,
  exit: { code: number | null; signal: string | null } | null,
): Promise<number> {
  const rows = await liveRows(home)
  const below = await descendantsAmong(rows, processId)
  const ids = [processId, ...below.map(({ id }) => id)]
  const { roots = [], cgroups = [] } = familyOfRows([...rows.filter(({ id }) => id === processId), ...below])
  const survivors = await killFamily({
    roots,
    // Of rows that are closed already, too: a background hook that died by itself may have left somebody behind.
    markers: [...ids, ...(await childRows(home, ids)).map(({ id }) => id)].flatMap(marksOf),
    // And of rows that somebody has deleted: by the worker's mark, and by its group in that of its runner.
    cgroups: [
      ...cgroups,
      ...rows
        .filter(isRunner)
        .flatMap(cgroupIn)
        .flatMap((runner) => ids.map((id) => join(runner, id))),
    ],
  })
  if (survivors.length > 0) throw new Error(`cannot kill ${survivors.join(', ')}`)
  await failpoint('reap.family_killed')
  // All or nothing: whoever reaps may die at it, and the next one must find the whole tree again.
  const requeued = await transact(home.db, async (tx) => {
    const requeued = await requeueClaimsOf(tx, ids)
    await failpoint('reap.claims_due')
    for (const row of below) await markEnded(tx, row.id, null)
    await failpoint('reap.descendants_closed')
    await markEnded(tx, processId, exit)
    await failpoint('reap.rows_closing')
    return requeued
  })
  await failpoint('reap.rows_closed')
  return requeued
}

/** When a runner leaves: whatever still carries its mark ends with it, and rows that nobody closed are closed. */
export async function reapRunner(home: Home, runnerId: string): Promise<void> {
  const survivors = await killFamily({ markers: [`${MARKER.runner}=${runnerId}`] })
  if (survivors.length > 0) throw new Error(`cannot kill ${survivors.join(', ')}`)
  await failpoint('shutdown.family_killed')
  const open = (await liveRows(home)).filter((row) => row.runner_id === runnerId)
  for (const row of open) await reapWorker(home, row.id, null)
}

/**
 * The owner of an expired lease may be alive on this machine: stopped, or stuck. Two owners may not work at once, so it
 * is ended, with all below it, before the new one begins. Its row may be closed or deleted: it is known by its mark.
 * What works for another data dir is left to that.
 */
export async function endExpiredOwner({ home, processId }: Owner, ownerId: string | null): Promise<void> {
  if (ownerId === null || ownerId === processId) return
  if (!(await worksElsewhere(home, ownerId))) await reapWorker(home, ownerId, null)
}

/**
 * Somebody may have taken a page, or a crawl, away from a worker (paused and resumed it, say) that has not noticed yet
 * and still runs a hook on it. It is ended, with all below it, before the work begins again. What works for another
 * data dir is left to that.
 */
export async function endFormerWorkers(owner: Owner, of: HookTarget): Promise<void> {
  await endWorkers(owner, await supervisorsOfHooks(owner.home, of))
}

/** Ends those of these workers that are not the owner itself. */
export async function endWorkers({ home, processId }: Owner, ids: readonly string[]): Promise<void> {
  for (const id of ids) if (id !== processId) await reapWorker(home, id, null)
}
