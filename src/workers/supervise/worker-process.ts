import { settingsOf } from '../../base/config.ts'
import { messageOf } from '../../base/errors.ts'
import { atLeast, Log } from '../../base/log.ts'
import { connectAhead, STATEMENT_MS } from '../../db/database.ts'
import type { Supervised } from '../../engine/supervised.ts'
import { openFor } from '../../hooks/account.ts'
import type { WorkScope } from '../../machines/scope.ts'
import type { Containment } from '../../processes/containment/containment.ts'
import { MARKER } from '../../processes/marks.ts'
import { Company } from './company.ts'
import { homeFromEnvironment, required } from './home-environment.ts'
import { Lanes } from './lanes.ts'
import { sayServerTrouble } from './server-trouble.ts'
import type { WorkerKind } from './worker-child.ts'
import type { WorkerContext } from './worker-context.ts'
import { WORKER_ENV } from './worker-env.ts'

/** The context of one lane of a worker, with its supervisor. */
export interface WorkerProcessContext extends WorkerContext {
  readonly parentId: string
  /** Its channel to the supervisor. */
  readonly supervised: Supervised
  /** Whether the supervisor limits how many workers of its own it may have. */
  readonly sharesSlots: boolean
  /** Whether it waits for the supervisor's cue, and claims nothing yet. */
  readonly holds: () => boolean
  /** The pages that the lanes of this worker work on. */
  readonly company: Company
  /** Aborted when this worker is to take no further work: each of its lanes ends when it has none. */
  readonly closing: AbortController
}

/**
 * The frame of every worker process. The environment tells it who it is; orders come through the channel to its
 * supervisor, and the end of the channel is an order to stop. Sets the exit code: 0 done, 1 failed (the supervisor
 * reaps it).
 */
export async function workerProcess(
  kind: WorkerKind,
  load: () => Promise<(context: WorkerProcessContext) => Promise<void>>,
): Promise<void> {
  const lanes = new Lanes()
  const opening = await lanes.opening
  if (!opening) return process.exit() // Our supervisor died before there was any work.
  const settings = settingsOf(opening.settings)
  const runnerId = required(MARKER.runner)
  const log = new Log(
    kind,
    atLeast(settings.config.LOG_LEVEL, (line) => lanes.say({ line })),
    { runner_id: runnerId, process_id: required(MARKER.process) },
  )
  // One connection for the lanes of a snapshot worker, of which there may be many. A result waits here until it can be
  // written, for as long as our leader trusts its lead; after that the leader stops us.
  const home = homeFromEnvironment(opening.databaseUrl, kind, runnerId, {
    connections: kind === 'crawl' ? 2 : 1,
    statementMs: STATEMENT_MS,
    patience: { until: lanes.force, onWait: sayServerTrouble(log) },
  })
  const connected = connectAhead(home.db)
  const containment = JSON.parse(required(WORKER_ENV.containment)) as Containment
  openFor(containment.account)
  const shared = {
    owner: { home, processId: required(MARKER.process), term: Number(required(WORKER_ENV.term)) },
    runnerId,
    log,
    settings,
    containment,
    parentId: required(WORKER_ENV.parentId),
    scope: JSON.parse(required(WORKER_ENV.scope)) as WorkScope,
    sharesSlots: process.env[WORKER_ENV.slots] !== undefined,
    company: new Company(),
    closing: lanes.closing,
  }
  const report = (error: unknown) => {
    log[lanes.force.aborted ? 'debug' : 'error'](messageOf(error))
    if (error instanceof Error && error.stack) log.debug(error.stack)
  }
  try {
    const work = await load()
    await connected
    process.exitCode = await lanes.serve(async (lane) => {
      const { supervised } = lane
      const { stop, bell } = supervised
      await work({ ...shared, supervised, stop, bell, holds: () => lane.holds })
    }, report)
  } catch (error) {
    report(error)
    process.exitCode = 1
  }
  await home.db.destroy().catch(() => {})
  // The channel keeps the process alive; closing it flushes what is still being sent. After a failure something else
  // may keep the process alive, so it exits.
  if (process.exitCode !== 0) process.once('disconnect', () => process.exit())
  if (process.connected) process.disconnect()
  else process.exit()
}
