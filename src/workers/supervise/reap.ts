import { join } from 'node:path'
import { failpoint } from '../../base/failpoint.ts'
import type { Home } from '../../db/home.ts'
import { childRows, supervisorsOfHooks, worksElsewhere } from '../../db/process-rows.ts'
import { isRunner, liveRows, markEnded, noteHandover, noteStuck, type ProcessRow } from '../../db/processes.ts'
import { transact } from '../../db/retry.ts'
import { type Owner, requeueClaimsOf } from '../../machines/queues.ts'
import { CannotEnd, rowsOfSurvivors } from '../../processes/cannot-end.ts'
import { cgroupIn } from '../../processes/containment/cgroup.ts'
import { killFamily } from '../../processes/family.ts'
import { familyOfRows } from '../../processes/family-of-rows.ts'
import { MARKER, marksOf } from '../../processes/marks.ts'
import { descendantsAmong } from '../../processes/registry/relatives.ts'

/** Another process still works on a row, and cannot be ended: the row waits for it. */
export class HeldUp extends CannotEnd {
  override readonly name = 'HeldUp'
}

/**
 * Cleans up after a worker that died: kills all processes below it, known by rows or not; waits until the operating
 * system confirms it; closes the rows; makes their claims due again. The order matters: no new attempt may start while
 * the old one can still write.
 * @param options.stuck pids that survived before: nobody waits for them again
 * @returns how many claims are due again
 * Throws CannotEnd when some cannot be ended: their rows stay open, and say why; all others are closed.
 */
export async function reapWorker(
  home: Home,
  processId: string,
  exit: { code: number | null; signal: string | null } | null,
  { stuck = [] }: { readonly stuck?: readonly number[] } = {},
): Promise<number> {
  const rows = await liveRows(home)
  const below = await descendantsAmong(rows, processId)
  const ids = [processId, ...below.map(({ id }) => id)]
  const own = [...rows.filter(({ id }) => id === processId), ...below]
  const { roots = [], cgroups = [] } = familyOfRows(own)
  const family = {
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
  }
  const survivors = await killFamily(family, { stuck: [...stuck, ...own.flatMap(stuckPid)] })
  const failure = survivors.length > 0 ? new CannotEnd(survivors) : undefined
  await failpoint('reap.family_killed')
  const stuckRows = rowsOfSurvivors(survivors, own)
  // If nothing names a survivor, anything here may be its owner.
  const isUnnamed = failure !== undefined && stuckRows.length === 0
  const held = new Set((isUnnamed ? own : stuckRows).map(({ id }) => id))
  const over = isUnnamed ? [] : ids.filter((id) => !held.has(id))
  // In one transaction: if the reaper dies here, the next one must find the whole tree.
  const requeued = await transact(home.db, async (tx) => {
    const requeued = await requeueClaimsOf(tx, over, !failure)
    for (const id of over) await markEnded(tx, id, id === processId ? exit : null)
    if (failure) await noteStuck(tx, [...held], failure.message)
    return requeued
  })
  await failpoint('reap.rows_closed')
  if (failure) throw failure
  return requeued
}

/** The pid of a process that survived SIGKILL before. */
export const stuckPid = ({ pid, blocked_reason: reason }: Pick<ProcessRow, 'pid' | 'blocked_reason'>) =>
  pid !== null && reason !== null ? [pid] : []

/**
 * Ends what a runner leaves behind when it exits: kills every process with its mark and closes its open rows.
 * @returns what cannot be ended, if anything: its rows stay open, and say why
 */
export async function reapRunner(home: Home, runnerId: string): Promise<CannotEnd | undefined> {
  const markers = [`${MARKER.runner}=${runnerId}`]
  const survivors = await killFamily({ markers }, { stuck: (await liveRows(home)).flatMap(stuckPid) })
  await failpoint('shutdown.family_killed')
  const stuck = survivors.map(({ pid }) => pid)
  const open = (await liveRows(home)).filter((row) => row.runner_id === runnerId)
  for (const row of open)
    await reapWorker(home, row.id, null, { stuck }).catch((error: unknown) => {
      if (!(error instanceof CannotEnd)) throw error
    })
  return survivors.length > 0 ? new CannotEnd(survivors) : undefined
}

/**
 * Ends the owner of an expired lease, with everything below it, before the new owner begins: it may be alive on this
 * machine, stopped or stuck, and two must not work at once. It is found by its mark, since its row may be closed or
 * deleted. Processes of another data dir are left alone. Throws HeldUp when it cannot be ended.
 */
export async function endExpiredOwner({ home, processId }: Owner, ownerId: string | null): Promise<void> {
  if (ownerId === null || ownerId === processId) return
  if (!(await worksElsewhere(home, ownerId))) await heldUp(reapWorker(home, ownerId, null))
}

/**
 * Ends workers that still run a hook on a page that was taken away from them (for example paused and resumed) and have
 * not noticed yet, before the work begins again; never the owner itself. Their other work is not to blame. Throws
 * HeldUp when one of them cannot be ended.
 */
export async function endWorkers({ home, processId }: Owner, ids: readonly string[]): Promise<void> {
  for (const id of ids.filter((each) => each !== processId)) {
    await noteHandover(home.db, id, processId) // Its supervisor sees its end, too, and may reap it first.
    await heldUp(reapWorker(home, id, null))
  }
}

async function heldUp(work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    throw error instanceof CannotEnd ? new HeldUp(error.survivors) : error
  })
}

/** The same for a crawl, whose hooks belong to no page. */
export async function endFormerWorkers(owner: Owner, crawlId: string): Promise<void> {
  await endWorkers(owner, await supervisorsOfHooks(owner.home, crawlId))
}
