import { messageOf } from '../base/errors.ts'
import { CHANNELS, listen } from '../db/notifications.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import { Scheduled } from '../workers/crawl/scheduled.ts'
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
import type { LeadOptions } from './options.ts'
import { oneAtATime, startSideJobs } from './side-jobs.ts'

/** The parts of a leader, and what it was given. */
export type Leader = Parts & ReturnType<typeof jobsBeside>
type Parts = ReturnType<typeof partsOf>

/** Creates what a leader needs, and begins to listen; no worker and no job is started yet. `shutDown` ends it. */
export function startLeader(...given: Parameters<typeof partsOf>): Leader {
  const parts = partsOf(...given)
  return { ...parts, ...jobsBeside(parts) }
}

function partsOf(options: LeadOptions, context: WorkerContext, heart: Heartbeat, guardian: Guardian) {
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
    [CHANNELS.runner]: () => void heart.beat(),
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
    page: new ArchivePageWriter(home, log),
    disk: new DiskMonitor(home.dataDir, settings.config.DISK_FLOOR, log),
    liveness: new Liveness(livenessFile),
    inTurn: oneAtATime(),
    /** The database did not answer when we were told to stop. */
    isSilent: false,
  }
}

/** The jobs beside the loop. `startJobs` starts them when it is first called. */
function jobsBeside(parts: Parts) {
  const { log, bell, context, outage, heart, pool, inTurn } = parts
  const { reconciler, scheduled, upkeep, page, disk, liveness } = parts
  const ended = new AbortController()
  const over = AbortSignal.any([context.stop.drain, ended.signal])
  const beside = Object.entries(parts.beside).map(([name, begin]) => ({ name, job: begin(over, () => bell.wake()) }))
  const jobs = {
    reconciling: () => inTurn(() => reconciler.whenDue()),
    'the archive’s page': () => inTurn(() => page.write(pool.busy > 0, false)),
    schedules: () => inTurn(() => scheduled.whenDue()),
    upkeep: () => upkeep.whenDue(),
    'disk space': () => heart.isBlockedBy(disk.look() ?? troubleOf(pool)),
    'the liveness file': () => liveness.touch(),
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
