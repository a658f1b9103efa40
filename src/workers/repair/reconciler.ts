import { isMachineTrouble, messageOf } from '../../base/errors.ts'
import { failpoint } from '../../base/failpoint.ts'
import { addUpCounts } from '../../db/counts.ts'
import { identityIn, isRunner, type LiveRow, liveRows, markEnded } from '../../db/processes.ts'
import { isCollision, isDatabaseAway } from '../../db/trouble.ts'
import { CannotEnd } from '../../processes/cannot-end.ts'
import { cgroupIn, workersIn } from '../../processes/containment/cgroup.ts'
import { killFamily, membersOf } from '../../processes/family.ts'
import { familyOfRows } from '../../processes/family-of-rows.ts'
import { MARKER, marksIn } from '../../processes/marks.ts'
import { presenceOf } from '../../processes/presence.ts'
import type { ProcEntry } from '../../processes/proc.ts'
import { rootOf } from '../../processes/registry/relatives.ts'
import { reapRunner, reapWorker, stuckPid } from '../supervise/reap.ts'
import type { WorkerContext } from '../supervise/worker-context.ts'
import { reconcileCancelled } from './reconcile-work.ts'

const EVERY_MS = 30_000

/**
 * Repairs what has no other owner: rows whose process is gone, processes whose runner or rows are gone, unfinished
 * cancellations, and unsummed counts. A leader runs it every 30 s.
 */
export class Reconciler {
  readonly #context: WorkerContext
  #nextAt = Number.NEGATIVE_INFINITY
  #isIncomplete = false
  #suspects: ReadonlySet<string> = new Set()
  /** What was last reported about the repair of a row, by its id. */
  readonly #failed = new Map<string, string>()
  /** The pids that survived the last round, with or without a row. */
  #stuck: ReadonlySet<number> = new Set()

  constructor(context: WorkerContext) {
    this.#context = context
  }

  /** Runs a round when one is due. */
  async whenDue(): Promise<void> {
    if (performance.now() >= this.#nextAt) {
      this.#nextAt = performance.now() + EVERY_MS
      this.#isIncomplete = true
      await this.round()
      await addUpCounts(this.#context.owner.home.db)
    }
    if (this.#isIncomplete) this.#isIncomplete = await this.#complete()
  }

  /** Completes the cancellations since the last round, before a runner without work exits. */
  async beforeLeaving(): Promise<void> {
    while (await this.#complete());
  }

  /** @returns whether more is due before the next round */
  async #complete(): Promise<boolean> {
    const { owner, log } = this.#context
    try {
      return await reconcileCancelled(owner.home)
    } catch (error) {
      if (isDatabaseAway(error)) throw error
      // For example a full disk, or pages that are being deleted: the next round tries again, and the leader goes on.
      log[isMachineTrouble(error) || isCollision(error) ? 'debug' : 'warn'](
        `cancellations are completed later: ${messageOf(error)}`,
      )
      return false
    }
  }

  /**
   * Closes stale rows and ends orphans. It kills and confirms before it closes a row, whose exit code stays unknown.
   * Age is never a reason. A row with a living supervisor is left to it, unless nothing has changed a round later.
   */
  async round(): Promise<void> {
    const { home, processId } = this.#context.owner
    const rows = await liveRows(home)
    const there = new Set([processId])
    for (const row of rows) if ((await presenceOf(home, row)) !== 'gone') there.add(row.id)
    const suspects = new Set<string>()
    const over: { readonly row: LiveRow; readonly isStale: boolean }[] = []
    for (const row of rows) {
      const isSupervised = row.parent_id !== null && there.has(row.parent_id)
      const isStale = !there.has(row.id) && (identityIn(row) !== null || !isSupervised)
      if (!isStale && !(there.has(row.id) && (await this.#isOrphan(row)))) continue
      if (isSupervised && !this.#suspects.has(row.id)) suspects.add(row.id)
      else over.push({ row, isStale })
    }
    // All at once: one that cannot be ended is waited for once, and delays none of the others.
    const family = familyOfRows(over.map(({ row }) => row))
    const survivors =
      over.length > 0 ? await killFamily(family, { stuck: [...this.#stuck, ...rows.flatMap(stuckPid)] }) : []
    const stuck = new Set([...this.#stuck, ...survivors.map(({ pid }) => pid)])
    const still = new Set<number>()
    const attempt = async (id: string, work: () => Promise<void>) => {
      const left = await this.#attempt(id, work)
      for (const { pid } of left) for (const pids of [stuck, still]) pids.add(pid)
    }
    for (const { row, isStale } of over) await attempt(row.id, () => this.#close(row, isStale, [...stuck]))
    for (const id of await straysOf(processId, rows)) {
      if (this.#suspects.has(id) || this.#failed.has(id)) await attempt(id, () => this.#end(id, [...stuck]))
      else suspects.add(id)
    }
    this.#suspects = suspects
    this.#stuck = still
  }

  /** Whether this is a worker or hook on this machine whose runner is gone. */
  async #isOrphan(row: LiveRow): Promise<boolean> {
    const { home, processId } = this.#context.owner
    if (row.runner_id === null || row.runner_id === processId || (await presenceOf(home, row)) !== 'there') return false
    const root = await rootOf(home, row)
    return isRunner(root) && (await presenceOf(home, root)) === 'gone'
  }

  /**
   * A failure on one row does not keep others from being repaired; the same one is reported once. @returns survivors
   */
  async #attempt(id: string, work: () => Promise<void>): Promise<readonly ProcEntry[]> {
    try {
      await work()
      this.#failed.delete(id)
      return []
    } catch (error) {
      if (isDatabaseAway(error)) throw error
      if (![...this.#failed.values()].includes(messageOf(error))) this.#context.log.warn(messageOf(error))
      this.#failed.set(id, messageOf(error))
      return error instanceof CannotEnd ? error.survivors : []
    }
  }

  async #close(row: LiveRow, isStale: boolean, stuck: readonly number[]): Promise<void> {
    const { owner, log } = this.#context
    const why = isStale ? 'is gone, its end unrecorded' : 'outlived its runner'
    if (!this.#failed.has(row.id))
      log.warn(`${row.worker_type || row.process_type} pid ${row.pid ?? '-'} ${why}: reaping it`)
    if (row.runner_id !== null) await reapWorker(owner.home, row.id, null, { stuck })
    else {
      const left = isRunner(row) ? await reapRunner(owner.home, row.id) : undefined
      await markEnded(owner.home.db, row.id, null)
      if (left) throw left
    }
    await failpoint('reap.stale_row_closed')
  }

  async #end(id: string, stuck: readonly number[]): Promise<void> {
    const { owner, log } = this.#context
    if (!this.#failed.has(id)) log.warn(`ending processes of ${id}, which has no row`)
    await reapWorker(owner.home, id, null, { stuck })
  }
}

/**
 * The ids of processes that run on behalf of a runner although neither they nor their worker have a live row; from the
 * processes' marks and from control groups. The next round no longer lists one whose row appears meanwhile.
 */
async function straysOf(runnerId: string, rows: readonly LiveRow[]): Promise<Set<string>> {
  const known = new Set([runnerId, ...rows.map(({ id }) => id)])
  const strays = new Set<string>()
  for (const { pid } of await membersOf({ markers: [`${MARKER.runner}=${runnerId}`] })) {
    const { process, worker } = marksIn(pid)
    // Processes that a hook started without its marks end with it.
    if (process !== undefined && !known.has(process) && !known.has(worker ?? '')) strays.add(process)
  }
  for (const group of rows.filter(({ id }) => id === runnerId).flatMap(cgroupIn))
    for (const worker of workersIn(group)) if (!known.has(worker)) strays.add(worker)
  return strays
}
