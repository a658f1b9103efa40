import { type StdioOptions, spawn } from 'node:child_process'
import { messageOf } from '../../base/errors.ts'
import { failpoint } from '../../base/failpoint.ts'
import { FLUSH_ENV } from '../../base/flush.ts'
import { asset } from '../../base/package-root.ts'
import { withoutSecrets } from '../../base/secrets.ts'
import { FRUGAL_ENV, FRUGAL_FLAGS } from '../../base/start/frugal.ts'
import { insertStarting, markEnded, markRunning } from '../../db/processes.ts'
import type { WorkerType } from '../../db/tables.ts'
import { type ActorBody, processBody } from '../../engine/actor-slot.ts'
import { crawlMachine } from '../../machines/crawl.ts'
import { snapshotMachine } from '../../machines/snapshot.ts'
import { identityOf } from '../../processes/identity.ts'
import { MARKER } from '../../processes/marks.ts'
import { spawned } from '../../processes/spawned.ts'
import { homeEnvironment } from './home-environment.ts'
import { LanedWorker } from './laned-worker.ts'
import { retryTransient } from './retry-transient.ts'
import type { WorkerContext } from './worker-context.ts'
import { WORKER_ENV } from './worker-env.ts'

export type WorkerKind = Extract<WorkerType, 'crawl' | 'snapshot'>

/**
 * How many rows a worker works on at once. A process takes 30 MB, its connection 10 in the server, and CPU until V8 has
 * compiled for it what the others have, too. When a page ends its worker, those beside it lose an attempt: so not more.
 */
const LANES: Readonly<Record<WorkerKind, number>> = { crawl: 1, snapshot: 4 }

/**
 * Starts a worker; writes its row first.
 * @param sharesSlots its supervisor tells it how many workers of its own it may have
 * @returns undefined when the machine cannot start it now; its row is closed then
 */
export async function startWorker(
  context: WorkerContext,
  kind: WorkerKind,
  sharesSlots: boolean,
): Promise<LanedWorker | undefined> {
  const { owner, runnerId, log, scope, containment } = context
  const { home, processId: parentId, term } = owner
  const { deadlineMs } = (kind === 'crawl' ? crawlMachine : snapshotMachine).states.started
  const cwd = home.dataDir
  const argv = [process.execPath, ...FRUGAL_FLAGS, asset('main.js', 'main.ts'), 'worker', kind]
  const row = await insertStarting(home, {
    processType: 'worker',
    workerType: kind,
    parentId,
    runnerId,
    pwd: cwd,
    cmd: argv,
    crawlId: scope.crawlIds?.length === 1 ? scope.crawlIds[0]! : null,
    timeout: deadlineMs / 1_000,
    term,
  })
  await failpoint('spawn.worker_row')
  if (context.stop.drain.aborted) {
    await markEnded(home.db, row.id, null) // Told to stop while the database was silent.
    return undefined
  }
  const env = {
    ...FRUGAL_ENV,
    ...FLUSH_ENV,
    ...withoutSecrets(process.env),
    ...homeEnvironment(home),
    [MARKER.process]: row.id,
    [MARKER.runner]: runnerId,
    [WORKER_ENV.parentId]: parentId,
    [WORKER_ENV.term]: String(term),
    [WORKER_ENV.scope]: JSON.stringify(scope),
    ...(sharesSlots ? { [WORKER_ENV.slots]: 'shared' } : {}),
    [WORKER_ENV.containment]: JSON.stringify(containment),
  }
  // In its own session: only the leader acts on Ctrl-C in the terminal.
  const stdio = ['ignore', 'ignore', 'inherit', 'ipc'] satisfies StdioOptions
  try {
    const child = await spawned(() => spawn(argv[0]!, argv.slice(1), { cwd, env, detached: true, stdio }))
    const body = processBody(row.id, child)
    return new LanedWorker(body, LANES[kind], recordWorker(context, body))
  } catch (error) {
    log.error(`cannot start a ${kind} worker: ${messageOf(error)}`)
  }
  await markEnded(home.db, row.id, null)
  await failpoint('spawn.worker_missing')
}

/** Records the worker's pid and start time, by which others can see and end it. */
async function recordWorker({ owner, stop, log }: WorkerContext, { owner: processId, pid }: ActorBody): Promise<void> {
  await failpoint('spawn.worker_spawned')
  await retryTransient(async () => {
    const identity = await identityOf(pid!)
    if (identity) await markRunning(owner.home.db, processId, identity)
  }, stop.force)
  await failpoint('spawn.worker_running')
  log.debug(`started worker pid ${pid}`)
}
