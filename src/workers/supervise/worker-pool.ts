import { messageOf } from '../../base/errors.ts'
import { failpoint } from '../../base/failpoint.ts'
import type { LogLine } from '../../base/log.ts'
import type { Stop } from '../../base/stop.ts'
import { kyselySql } from '../../db/database.ts'
import { markEnded } from '../../db/processes.ts'
import { withRetry } from '../../db/retry.ts'
import { isDatabaseAway } from '../../db/trouble.ts'
import { ActorPool } from '../../engine/actor-pool.ts'
import type { ActorSlot, Exit } from '../../engine/actor-slot.ts'
import { crawlMachine } from '../../machines/crawl.ts'
import { snapshotMachine } from '../../machines/snapshot.ts'
import { CannotEnd } from '../../processes/cannot-end.ts'
import type { LanedWorker } from './laned-worker.ts'
import { reapWorker } from './reap.ts'
import { retryTransient } from './retry-transient.ts'
import { startWorker, type WorkerKind } from './worker-child.ts'
import type { WorkerContext } from './worker-context.ts'

/** Crashes in a row that count as trouble. */
const MANY_CRASHES = 3

/**
 * The worker processes of one kind below one supervisor: actors, each with a row in the registry. When one dies, its
 * processes are killed before its claims become due again.
 * @param options.slots how many workers these workers may have together; undefined when unlimited
 * @param options.holds whether a worker that starts now is to wait until it is told to begin
 */
export function workerPool(
  context: WorkerContext,
  {
    kind,
    size,
    slots,
    holds = () => false,
  }: {
    readonly kind: WorkerKind
    readonly size: number
    readonly slots?: number | undefined
    readonly holds?: () => boolean
  },
): ActorPool {
  const { owner, log, stop, bell, settings } = context
  const { db, databaseUrl } = owner.home
  const workers = new Map<string, LanedWorker>()
  const withRoom = async () => {
    // All at once: one that stands still delays no other.
    const asked = [...new Set(workers.values())].map(async (worker) => {
      if (!(await worker.hasRoom())) throw new Error('no room')
      return worker
    })
    return await Promise.any(asked).catch(() => startWorker(context, kind, slots !== undefined))
  }
  return new ActorPool({
    sql: kyselySql(db),
    machine: kind === 'crawl' ? crawlMachine : snapshotMachine,
    queue: { retry: (work) => withRetry(db, work) },
    actors: {
      mode: 'custom',
      start: async () => {
        const worker = await withRoom()
        const lane = worker?.open({ databaseUrl, settings: settings.texts, holds: holds() })
        if (lane) workers.set(lane.owner, worker!)
        return lane
      },
      started: async (lane) => await workers.get(lane.owner)?.recorded,
    },
    name: `${kind} worker`,
    ...{ maxConcurrentActors: size, slots, stop, bell },
    reap: (worker, exit) => {
      workers.delete(worker.owner)
      return reap(context, kind, worker, exit)
    },
    onNote: (line) => log.relay(line as LogLine),
    onError: (error) => log.warn(messageOf(error)),
  })
}

/** Why a pool makes no headway: its workers keep dying. Undefined when it works. */
export function troubleOf(pool: ActorPool): string | undefined {
  if (pool.crashes < MANY_CRASHES) return undefined
  return `${pool.crashes} workers in a row died before they finished anything: logs/runner.log tells why`
}

/**
 * Passes stop requests on to the workers of a pool at once: their supervisor may be busy with a statement that an
 * unresponsive database does not answer. @returns ends this
 */
export function passOnStops(pool: ActorPool, stop: Stop): () => void {
  const onForce = () => pool.force()
  stop.force.addEventListener('abort', onForce)
  const unwatch = stop.watch(() => pool.drain())
  return () => {
    unwatch()
    stop.force.removeEventListener('abort', onForce)
  }
}

/** Drains the workers of a pool and waits until they have exited and are reaped. */
export async function closeWorkers(pool: ActorPool): Promise<void> {
  pool.drain()
  await pool.close()
}

async function reap({ owner, log, stop }: WorkerContext, kind: WorkerKind, worker: ActorSlot, exit: Exit) {
  const pid = worker.pid ?? ''
  try {
    if (exit.code === 0) {
      await retryTransient(() => markEnded(owner.home.db, worker.owner, exit), stop.force)
      await failpoint('shutdown.worker_row_closed')
      return
    }
    const requeued = await retryTransient(() => reapWorker(owner.home, worker.owner, exit), stop.force)
    log.warn(
      `${kind} worker ${pid} died (${exit.signal ?? `exit code ${exit.code}`}): ${requeued} claims are due again`,
      { event: 'worker.died', kind, pid, claims_due: requeued },
    )
  } catch (error) {
    if (error instanceof CannotEnd) return log.warn(`${kind} worker ${pid} died, ${messageOf(error)}`)
    // The next promotion closes the row and makes its claims due again.
    log[isDatabaseAway(error) ? 'debug' : 'error'](`cannot close the row of ${kind} worker ${pid}: ${messageOf(error)}`)
  }
}
