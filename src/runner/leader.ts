import { messageOf } from '../base/errors.ts'
import { many } from '../base/words.ts'
import { allPages } from '../db/counts.ts'
import { CHANNELS, listen } from '../db/notifications.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import { Scheduled } from '../workers/crawl/scheduled.ts'
import { FileJobs } from '../workers/repair/file-jobs.ts'
import { Reconciler } from '../workers/repair/reconciler.ts'
import { Upkeep } from '../workers/repair/upkeep.ts'
import { crawlWorkers } from '../workers/supervise/sizes.ts'
import type { WorkerContext } from '../workers/supervise/worker-context.ts'
import { passOnStops, troubleOf, workerPool } from '../workers/supervise/worker-pool.ts'
import { ArchivePageWriter } from './archive-page-writer.ts'
import { DiskMonitor } from './disk-monitor.ts'
import type { Guardian } from './guardian.ts'
import type { Heartbeat } from './heartbeat.ts'
import { Liveness } from './liveness.ts'
import type { NodeReport } from './node-report.ts'
import type { LeadOptions } from './options.ts'
import { oneAtATime, startSideJobs } from './side-jobs.ts'

/** How often the service manager is told what we do. */
const SELDOM_MS = 4_500

/** The parts of a leader, and what it was given. */
export type Leader = Parts & ReturnType<typeof jobsBeside>
type Parts = ReturnType<typeof partsOf>

/** Creates what a leader needs, and begins to listen; no worker and no job is started yet. `shutDown` ends it. */
export function startLeader(...given: Parameters<typeof partsOf>): Leader {
  const parts = partsOf(...given)
  return { ...parts, ...jobsBeside(parts) }
}

function partsOf(options: LeadOptions, context: WorkerContext, heart: Heartbeat, guardian: Guardian, node: NodeReport) {
  const { home, log, bell, settings, concurrency, livenessFile } = options
  const size = crawlWorkers(settings.config, concurrency)
  const pool = workerPool(context, { kind: 'crawl', size, slots: concurrency })
  passOnStops(pool, context.stop)
  const scheduled = new Scheduled(context)
  const listener = listen(home.databaseUrl, context.runnerId, {
    [CHANNELS.work]: () => {
      if (guardian.isUp) pool.wake() // The round first counts what is due.
      scheduled.look()
      bell.wake()
    },
    [CHANNELS.runner]: () => {
      void heart.beat()
      node.soon()
    },
  })
  return {
    ...options,
    context,
    heart,
    guardian,
    pool,
    listener,
    scheduled,
    reconciler: new Reconciler(context),
    upkeep: new Upkeep(context),
    fileJobs: new FileJobs(context),
    page: new ArchivePageWriter(home, log),
    node,
    disk: new DiskMonitor(home.dataDir, settings.config.DISK_FLOOR, log),
    liveness: new Liveness(livenessFile),
    inTurn: oneAtATime(),
    /** The database did not answer when we were told to stop. */
    isSilent: false,
  }
}

/** The jobs beside the loop. `startJobs` starts them when it is first called. */
function jobsBeside(parts: Parts) {
  const { log, bell, context, outage, heart, pool, inTurn, manager } = parts
  const { reconciler, scheduled, upkeep, fileJobs, page, node, disk, liveness } = parts
  const ended = new AbortController()
  const over = AbortSignal.any([context.stop.drain, ended.signal])
  const beside = Object.entries(parts.beside).map(([name, begin]) => ({ name, job: begin(over, () => bell.wake()) }))
  const jobs = {
    reconciling: () => inTurn(() => reconciler.whenDue()),
    'the archive’s page': () => inTurn(() => page.write(pool.busy > 0, false)),
    schedules: () => inTurn(() => scheduled.whenDue()),
    upkeep: () => upkeep.whenDue(),
    'files to remove': () => fileJobs.whenDue(),
    'the node’s report': () => node.whenDue(),
    'disk space': () => heart.isBlockedBy(node.drains ?? disk.look() ?? troubleOf(pool)),
    'the liveness file': () => liveness.touch(),
    ...(manager.isThere && { 'the service manager': seldom(async () => manager.says(await whatItDoes(parts))) }),
    ...Object.fromEntries(beside.map(({ name, job }) => [name, () => job.whenDue()])),
  }
  let end: (() => Promise<void>) | undefined
  const startJobs = () => {
    end ??= startSideJobs(jobs, (name, error) => {
      if (isDatabaseAway(error)) outage.seen(error)
      else log.warn(`${name}: ${messageOf(error)}; trying again`, { event: 'job.failed', job: name })
    })
  }
  const endJobs = async () => {
    ended.abort()
    await end?.()
  }
  return { startJobs, endJobs, isBusyBeside: () => beside.some(({ job }) => job.isBusy) }
}

/** Makes a job that works every few seconds only. */
function seldom(work: () => Promise<void>): () => Promise<void> {
  let notBefore = 0
  return async () => {
    if (performance.now() < notBefore) return
    await work()
    notBefore = performance.now() + SELDOM_MS
  }
}

/** What a leader does, or what it waits for, in a line. */
async function whatItDoes({ home, outage, heart }: Parts): Promise<string> {
  if (outage.isOn) return 'waiting for the database, which is away'
  const { started, queued } = (await allPages(home.db)).counts
  const work = started > 0 ? `archiving ${many(started, 'page')}` : queued > 0 ? 'about to begin' : 'nothing to do'
  const doing = queued > 0 ? `${work}, ${queued} queued` : work
  return heart.blockedReason === null ? doing : `${doing}; waiting: ${heart.blockedReason}`
}
