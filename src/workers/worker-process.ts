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
import { BEGIN, WORKER_ENV } from './worker-env.ts'

/** A worker's context, with its supervisor. */
export interface WorkerProcessContext extends WorkerContext {
  readonly parentId: string
  /** Its channel to the supervisor. */
  readonly supervised: Supervised
  /** Does the supervisor limit how many workers of its own it may have? */
  readonly sharesSlots: boolean
  /** Does it wait for the supervisor's word, and claims nothing yet? */
  readonly holds: () => boolean
}

/**
 * The frame of every worker process. The environment tells it who it is; orders come through the channel to its
 * supervisor, and the end of the channel is the order to stop. Sets the exit code: 0 done, 1 failed (the supervisor
 * reaps it).
 */
export async function workerProcess(
  kind: 'crawl' | 'snapshot',
  load: () => Promise<(context: WorkerProcessContext) => Promise<void>>,
): Promise<void> {
  const supervised = supervisedProcess()
  const { stop, bell, tell } = supervised
  let holds = process.env[WORKER_ENV.holds] !== undefined
  const settings = await settingsFrom(supervised, () => {
    holds = false
  })
  const runnerId = required(MARKER.runner)
  const log = new Log(
    kind,
    atLeast(settings.config.LOG_LEVEL, (line) => tell({ type: 'note', note: line })),
    { runner_id: runnerId, process_id: required(MARKER.process) },
  )
  // One connection for each snapshot worker, of which there may be many. A result waits here until it can be written,
  // for as long as our leader trusts its lead; after that the leader stops us.
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
    holds: () => holds,
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
  // The channel keeps the process alive; closing it flushes what is still being sent. After a failure something else
  // may keep the process alive, so it exits.
  if (process.exitCode !== 0) process.once('disconnect', () => process.exit())
  if (process.connected) process.disconnect()
  else process.exit()
}

/**
 * The settings, which the supervisor sends first. If it died before, there are none, and no work either.
 * @param begin called when it says so later
 */
async function settingsFrom(supervised: Supervised, begin: () => void): Promise<Settings> {
  const texts = await new Promise<Texts>((resolve) => {
    supervised.onNote = (note) => (note === BEGIN ? begin() : resolve(note as Texts))
    void aborted(supervised.stop.force).then(() => resolve({}))
  })
  return settingsOf(texts)
}
