import { isMachineTrouble, messageOf } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { addUpCounts } from '../db/counts.ts'
import { identityIn, isRunner, type LiveRow, liveRows, markEnded } from '../db/processes.ts'
import { isCollision, isDatabaseAway } from '../db/trouble.ts'
import { cgroupIn, workersIn } from '../processes/containment/cgroup.ts'
import { MARKER, marksIn, membersOf } from '../processes/family.ts'
import { presenceOf } from '../processes/presence.ts'
import { rootOf } from '../processes/registry/relatives.ts'
import { reapRunner, reapWorker } from './reap.ts'
import { reconcileCancelled } from './reconcile-work.ts'
import type { WorkerContext } from './worker-context.ts'

const EVERY_MS = 30_000

/**
 * Sees to what nobody else sees to any more: rows whose process is gone, processes whose runner or whose rows are, what
 * was cancelled half-way, counts that have gathered. A leader does it every 30 s.
 */
export class Reconciler {
  readonly #context: WorkerContext
  #nextAt = Number.NEGATIVE_INFINITY
  #isIncomplete = false
  #suspects: ReadonlySet<string> = new Set()

  constructor(context: WorkerContext) {
    this.#context = context
  }

  /** A round, when it is time for one. */
  async whenDue(): Promise<void> {
    if (performance.now() >= this.#nextAt) {
      this.#nextAt = performance.now() + EVERY_MS
      this.#isIncomplete = true
      await this.round()
      await addUpCounts(this.#context.owner.home.db)
    }
    if (this.#isIncomplete) this.#isIncomplete = await this.#complete()
  }

  /** Before a runner leaves that has nothing left to do: completes what was cancelled since the last round. */
  async beforeLeaving(): Promise<void> {
    while (await this.#complete());
  }

  /** False: until the next round there is nothing left. */
  async #complete(): Promise<boolean> {
    const { owner, log } = this.#context
    try {
      return await reconcileCancelled(owner.home)
    } catch (error) {
      if (isDatabaseAway(error)) throw error
      // A full disk, say, or pages that somebody deletes at this moment: in the next round. A leader does not end for
      // that.
      log[isMachineTrouble(error) || isCollision(error) ? 'debug' : 'warn'](
        `what was cancelled is completed later: ${messageOf(error)}`,
      )
      return false
    }
  }

  /**
   * Closes stale rows and ends orphans: it kills and confirms, and only then closes the row, whose exit code stays
   * unknown. Age is never a reason. What has a living supervisor is left to that, unless it is still the same a round
   * later.
   */
  async round(): Promise<void> {
    const { home, processId } = this.#context.owner
    const rows = await liveRows(home)
    const there = new Set([processId])
    for (const row of rows) if ((await presenceOf(home, row)) !== 'gone') there.add(row.id)
    const suspects = new Set<string>()
    for (const row of rows) {
      const isSupervised = row.parent_id !== null && there.has(row.parent_id)
      const isStale = !there.has(row.id) && (identityIn(row) !== null || !isSupervised)
      if (!isStale && !(there.has(row.id) && (await this.#isOrphan(row)))) continue
      if (isSupervised && !this.#suspects.has(row.id)) suspects.add(row.id)
      else await this.#close(row, isStale)
    }
    for (const id of await straysOf(processId, rows)) {
      if (this.#suspects.has(id)) await this.#end(id)
      else suspects.add(id)
    }
    this.#suspects = suspects
  }

  /** A worker or a hook of a runner that is gone, on this machine. */
  async #isOrphan(row: LiveRow): Promise<boolean> {
    const { home, processId } = this.#context.owner
    if (row.runner_id === null || row.runner_id === processId || (await presenceOf(home, row)) !== 'there') return false
    const root = await rootOf(home, row)
    return isRunner(root) && (await presenceOf(home, root)) === 'gone'
  }

  async #close(row: LiveRow, isStale: boolean): Promise<void> {
    const { owner, log } = this.#context
    log.warn(
      `${row.worker_type || row.process_type} pid ${row.pid ?? '-'} ${isStale ? 'is gone, and nobody said so' : 'outlived its runner'}: cleaning up`,
    )
    if (isRunner(row)) await reapRunner(owner.home, row.id)
    if (row.runner_id !== null) await reapWorker(owner.home, row.id, null)
    else await markEnded(owner.home.db, row.id, null)
    await failpoint('reap.row_cleaned_up')
  }

  async #end(id: string): Promise<void> {
    const { owner, log } = this.#context
    log.warn(`something runs in the name of ${id}, of which there is no row: ending it`)
    await reapWorker(owner.home, id, null)
  }
}

/**
 * What works in a runner's name though neither it nor its worker has a live row: the ids that its processes carry, and
 * those of control groups. One that was announced since the rows were read is no stray any more in the next round.
 */
async function straysOf(runnerId: string, rows: readonly LiveRow[]): Promise<Set<string>> {
  const known = new Set([runnerId, ...rows.map(({ id }) => id)])
  const strays = new Set<string>()
  for (const { pid } of await membersOf({ markers: [`${MARKER.runner}=${runnerId}`] })) {
    const { process, worker } = marksIn(pid)
    // What a hook started without its marks ends with it.
    if (process !== undefined && !known.has(process) && !known.has(worker ?? '')) strays.add(process)
  }
  for (const group of rows.filter(({ id }) => id === runnerId).flatMap(cgroupIn))
    for (const worker of workersIn(group)) if (!known.has(worker)) strays.add(worker)
  return strays
}
