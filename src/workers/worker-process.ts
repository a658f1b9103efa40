import { aborted } from '../base/abort.ts'
import { type Settings, settingsOf, type Texts } from '../base/config.ts'
import { messageOf } from '../base/errors.ts'
import { atLeast, Log } from '../base/log.ts'
import { connectAhead, STATEMENT_MS } from '../db/database.ts'
import { type Supervised, supervisedProcess } from '../engine/supervised.ts'
import type { WorkScope } from '../machines/scope.ts'
import type { Containment } from '../processes/containment/containment.ts'
import { MARKER } from '../processes/family.ts'
import { homeFromEnvironment, required } from './home-environment.ts'
import { sayServerTrouble } from './server-trouble.ts'
import type { WorkerContext } from './worker-context.ts'
import { WORKER_ENV } from './worker-env.ts'

/** A worker's context, and whose worker it is. */
export interface WorkerProcessContext extends WorkerContext {
  readonly parentId: string
  /** Its channel to the supervisor. */
  readonly supervised: Supervised
  /** Does the supervisor say how many workers of its own it may have? */
  readonly sharesSlots: boolean
}

/**
 * The frame of every worker process: who it is comes from the environment, orders come through the channel to its
 * supervisor, whose end is one, too. Sets the process's exit code: 0 done, 1 failed (the supervisor then reaps).
 */
export async function workerProcess(
  kind: 'crawl' | 'snapshot',
  load: () => Promise<(context: WorkerProcessContext) => Promise<void>>,
): Promise<void> {
  const supervised = supervisedProcess()
  const { stop, bell, tell } = supervised
  const settings = await settingsFrom(supervised)
  const runnerId = required(MARKER.runner)
  const log = new Log(
    kind,
    atLeast(settings.config.LOG_LEVEL, (line) => tell({ type: 'note', note: line })),
    { runner_id: runnerId, process_id: required(MARKER.process) },
  )
  // Of snapshot workers there may be many: one connection each. A result waits here until it can be written, for as
  // long as our leader trusts its lead: then it tells us to stop at once.
  const home = homeFromEnvironment(kind, runnerId, {
    connections: kind === 'crawl' ? 2 : 1,
    statementMs: STATEMENT_MS,
    wait: { until: stop.force, onWait: sayServerTrouble(log) },
  })
  const connected = connectAhead(home.db)
  const context: WorkerProcessContext = {
    owner: { home, processId: required(MARKER.process), term: Number(required(WORKER_ENV.term)) },
    runnerId,
    log,
    stop,
    bell,
    settings,
    containment: JSON.parse(required(WORKER_ENV.containment)) as Containment,
    parentId: required(WORKER_ENV.parentId),
    scope: JSON.parse(required(WORKER_ENV.scope)) as WorkScope,
    supervised,
    sharesSlots: process.env[WORKER_ENV.slots] !== undefined,
  }
  try {
    const work = await load()
    await connected
    await work(context)
    process.exitCode = 0
  } catch (error) {
    context.log[stop.force.aborted ? 'debug' : 'error'](messageOf(error))
    if (error instanceof Error && error.stack) context.log.debug(error.stack)
    process.exitCode = 1
  }
  await home.db.destroy().catch(() => {})
  // The channel keeps the process alive; closing it lets what is still on its way out be sent.
  // One that failed may have left something that would do so for ever.
  if (process.exitCode !== 0) process.once('disconnect', () => process.exit())
  if (process.connected) process.disconnect()
  else process.exit()
}

/** What a worker is told first. One whose supervisor died meanwhile is told nothing any more, and has nothing to do. */
async function settingsFrom(supervised: Supervised): Promise<Settings> {
  const texts = await new Promise<Texts>((resolve) => {
    supervised.onNote = (note) => resolve(note as Texts)
    void aborted(supervised.stop.force).then(() => resolve({}))
  })
  return settingsOf(texts)
}
