import { Bell } from '../base/abort.ts'
import { type Settings, settingsOf } from '../base/config.ts'
import { messageOf } from '../base/errors.ts'
import { atLeast, Log, type LogLine } from '../base/log.ts'
import { Stop } from '../base/stop.ts'
import { connectAhead, STATEMENT_MS } from '../db/database.ts'
import type { WorkScope } from '../machines/scope.ts'
import type { Containment } from '../processes/containment/containment.ts'
import { MARKER } from '../processes/family.ts'
import { homeFromEnvironment, required } from './home-environment.ts'
import { type FromWorker, type ToWorker, WORKER_ENV } from './messages.ts'
import { sayServerTrouble } from './server-trouble.ts'
import type { WorkerContext } from './worker-context.ts'

/** A number that a supervisor sets; none until it has. */
class Slots {
  #count = 0
  #listener: ((count: number) => void) | undefined

  set(count: number): void {
    this.#count = count
    this.#listener?.(count)
  }

  /** Calls back with the number as it is, and whenever it is set. */
  watch(listener: (count: number) => void): void {
    this.#listener = listener
    listener(this.#count)
  }
}

/** How often it says that it is there: its supervisor must tell one that takes its time from one that stands still. */
const HERE_MS = 4_000

/** A worker's context, and whose worker it is. */
export interface WorkerProcessContext extends WorkerContext {
  readonly parentId: string
  /** How many workers of its own it may have now, where its supervisor says so; called back when that changes. */
  readonly slots: Slots | undefined
  tell(message: FromWorker): void
}

/**
 * The frame of every worker process: who it is comes from the environment, orders come through the channel to its supervisor, and the
 * end of that channel is an order too: a worker never outlives the one that it works for.
 * Sets the process's exit code: 0 done, 1 failed (the supervisor then reaps).
 */
export async function workerProcess(
  kind: 'crawl' | 'snapshot',
  load: () => Promise<(context: WorkerProcessContext) => Promise<void>>,
): Promise<void> {
  const stop = new Stop()
  const bell = new Bell()
  const onRecheck = new Set<() => void>()
  const slots = process.env[WORKER_ENV.slots] === undefined ? undefined : new Slots()
  const tell = (message: FromWorker) => {
    if (process.connected) process.send?.(message, undefined, undefined, () => {})
  }
  const given = Promise.withResolvers<Settings>()
  process.on('message', (message: ToWorker) => {
    if (message.type === 'settings') given.resolve(settingsOf(message.texts))
    if (message.type === 'drain') stop.requestDrain(message.capMs ?? Number.POSITIVE_INFINITY, message.isExplained)
    if (message.type === 'force') stop.requestForce(message.isExplained)
    if (message.type === 'recheck') for (const recheck of onRecheck) recheck()
    if (message.type === 'slots') slots?.set(message.count)
    bell.wake()
  })
  setInterval(() => tell({ type: 'here' }), HERE_MS).unref()
  process.on('disconnect', () => stop.requestForce(false))
  if (!process.connected) stop.requestForce(false) // It died while we were starting.
  process.on('SIGTERM', () => stop.requestDrain())
  for (const ignored of ['SIGINT', 'SIGHUP'] as const) process.on(ignored, () => {})

  // Whose supervisor died meanwhile is told nothing any more, and has nothing to do.
  stop.force.addEventListener('abort', () => given.resolve(settingsOf({})))
  if (stop.force.aborted) given.resolve(settingsOf({}))
  const settings = await given.promise
  const runnerId = required(MARKER.runner)
  const log = new Log(
    kind,
    atLeast(settings.config.LOG_LEVEL, (line: LogLine) => tell({ type: 'log', line })),
  )
  // Of snapshot workers there may be many: one connection each. A result waits here until it can be written, for as long as our leader trusts
  // its lead: then it tells us to stop at once.
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
    onRecheck,
    settings,
    containment: JSON.parse(required(WORKER_ENV.containment)) as Containment,
    parentId: required(WORKER_ENV.parentId),
    scope: JSON.parse(required(WORKER_ENV.scope)) as WorkScope,
    slots,
    tell,
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
  if (process.connected) process.disconnect()
}
