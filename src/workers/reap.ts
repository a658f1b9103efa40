import { join } from 'node:path'
import { failpoint } from '../base/failpoint.ts'
import type { Home } from '../db/home.ts'
import { childRows, supervisorsOfHooks, worksElsewhere } from '../db/process-rows.ts'
import { isRunner, liveRows, markEnded } from '../db/processes.ts'
import { transact } from '../db/retry.ts'
import { type Owner, requeueClaimsOf } from '../machines/queues.ts'
import { cgroupIn } from '../processes/containment/cgroup.ts'
import { killFamily, MARKER, marksOf } from '../processes/family.ts'
import { familyOfRows } from '../processes/family-of-rows.ts'
import { descendantsAmong } from '../processes/registry/relatives.ts'

/**
 * Cleans up after a worker that died: kills all processes below it, known by rows or not; waits until the operating
 * system confirms it; closes the rows; makes their claims due again. The order matters: no new attempt may start while
 * the old one can still write.
 * @param blame whether it may have died of its claims, so that their attempts count
 * @returns how many claims are due again
 */
export async function reapWorker(
  home: Home,
  processId: string,
  exit: { code: number | null; signal: string | null } | null,
  blame = true,
): Promise<number> {
  const rows = await liveRows(home)
  const below = await descendantsAmong(rows, processId)
  const ids = [processId, ...below.map(({ id }) => id)]
  const { roots = [], cgroups = [] } = familyOfRows([...rows.filter(({ id }) => id === processId), ...below])
  const survivors = await killFamily({
    roots,
    // Includes closed rows: a background hook that exited by itself may have left children.
    markers: [...ids, ...(await childRows(home, ids)).map(({ id }) => id)].flatMap(marksOf),
    // Finds processes without rows, too: by the worker's mark, and by its control group inside its runner's.
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
  // In one transaction: if the reaper dies here, the next one must find the whole tree.
  const requeued = await transact(home.db, async (tx) => {
    const requeued = await requeueClaimsOf(tx, ids, blame)
    for (const row of below) await markEnded(tx, row.id, null)
    await markEnded(tx, processId, exit)
    return requeued
  })
  await failpoint('reap.rows_closed')
  return requeued
}

/** Ends what a runner leaves behind when it exits: kills every process with its mark and closes its open rows. */
export async function reapRunner(home: Home, runnerId: string): Promise<void> {
  const survivors = await killFamily({ markers: [`${MARKER.runner}=${runnerId}`] })
  if (survivors.length > 0) throw new Error(`cannot kill ${survivors.join(', ')}`)
  await failpoint('shutdown.family_killed')
  const open = (await liveRows(home)).filter((row) => row.runner_id === runnerId)
  for (const row of open) await reapWorker(home, row.id, null)
}

/**
 * Ends the owner of an expired lease, with all below it, before the new owner begins: it may be alive on this machine,
 * stopped or stuck, and two must not work at once. It is known by its mark, since its row may be closed or deleted.
 * Processes of another data dir are left alone.
 */
export async function endExpiredOwner({ home, processId }: Owner, ownerId: string | null): Promise<void> {
  if (ownerId === null || ownerId === processId) return
  if (!(await worksElsewhere(home, ownerId))) await reapWorker(home, ownerId, null)
}

/**
 * Ends workers that still run a hook on a page that was taken away from them (paused and resumed, say) and have not
 * noticed yet, before the work begins again; never the owner itself. What else they have at work is not to blame.
 */
export async function endWorkers({ home, processId }: Owner, ids: readonly string[]): Promise<void> {
  for (const id of ids) if (id !== processId) await reapWorker(home, id, null, false)
}

/** The same for a crawl, whose hooks are those of no page. */
export async function endFormerWorkers(owner: Owner, crawlId: string): Promise<void> {
  await endWorkers(owner, await supervisorsOfHooks(owner.home, crawlId))
}
