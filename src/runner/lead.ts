import { untilLate } from '../base/abort.ts'
import { messageOf } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { CHANNELS, listen } from '../db/notifications.ts'
import { markDraining, recordContainment } from '../db/processes.ts'
import type { Place } from '../db/runners.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import { forgetPersonas } from '../hooks/account-environment.ts'
import { reconcileSchedules } from '../machines/reconcile-schedules.ts'
import { openCrawls } from '../machines/scope.ts'
import { releaseContainment } from '../processes/containment/containment.ts'
import { isTransient } from '../processes/spawned.ts'
import { Scheduled } from '../workers/crawl/scheduled.ts'
import { Reconciler } from '../workers/repair/reconciler.ts'
import { Upkeep } from '../workers/repair/upkeep.ts'
import { reapRunner } from '../workers/supervise/reap.ts'
import { crawlWorkers } from '../workers/supervise/sizes.ts'
import type { WorkerContext } from '../workers/supervise/worker-context.ts'
import { closeWorkers, passOnStops, troubleOf, workerPool } from '../workers/supervise/worker-pool.ts'
import { ArchivePageWriter } from './archive-page-writer.ts'
import { DiskMonitor } from './disk-monitor.ts'
import { Guardian } from './guardian.ts'
import { Heartbeat } from './heartbeat.ts'
import { Liveness } from './liveness.ts'
import { watchLoop } from './loop-watchdog.ts'
import type { LeadOptions, Why } from './options.ts'
import type { Term } from './promote.ts'
import { oneAtATime, startSideJobs } from './side-jobs.ts'
import type { Signals } from './signals.ts'

/** The poll is the safety net under the notifications. */
const POLL_MS = 5_000
/** `--exit-on-idle` waits for what is due so soon, such as a page that was put off for want of disk space. */
const SOON_MS = 20_000
/** How often a database that is away is looked for. */
const AWAY_POLL_MS = 500
/** How long a stop waits for a statement that is under way: the database may be silent. */
const SILENT_MS = 1_000
/** How long what is left to do when the last worker is gone may take; and while the database is silent. */
const LAST_MS = { answers: 15_000, isSilent: 1_000 } as const
/** A stop that takes longer says what it waits for, so often. */
const SAY_MS = 5_000

/**
 * One leadership, from promotion to resignation. It keeps as many CrawlWorkers as there are crawls due, wakes them, and
 * replaces the dead; on a drain it waits for all of them. While the database is away it starts nothing, and workers
 * keep what their hooks have done until they can write it. Nothing of this term runs any more when it returns.
 */
export async function lead(options: LeadOptions, me: Place, term: Term): Promise<Why> {
  const { home, log, signals, bell, settings, scope, outage, containment } = options
  // The end of our trust in this term ends its work, not the runner.
  const stop = signals.stop.part()
  const heart = new Heartbeat(home, me.id, stop, log, outage, () => signals.expectOne())
  const unwatch = watchLoop()
  const owner = { home, processId: me.id, term: term.number }
  const context = { owner, runnerId: me.id, log, stop, bell, settings, scope, containment }
  let guardian: Guardian | undefined
  let hasStarted = false
  try {
    forgetPersonas(containment.account) // Those of a leader that was killed.
    // It comes up meanwhile.
    if (!options.maintenanceOnly) guardian = new Guardian(context)
    const begun = Promise.all([reconcileSchedules(home.db), recordContainment(home.db, me.id, containment)])
    if (!(await untilLate(begun, SILENT_MS, stop.drain))) {
      await untilLate(heart.hear(), SILENT_MS)
      return whyTold(heart, signals)
    }
    const [mended] = await begun
    await failpoint('lead.recovered')
    if (mended > 0) log.warn(`${mended} crawls and pages had no schedule: they are queued again`)
    if (!guardian) return 'maintained'
    const leader = start(options, context, heart, guardian)
    hasStarted = true
    let why: Why
    try {
      why = await supervise(leader)
    } finally {
      await shutDown(leader)
    }
    return why === 'drained' && heart.handoff ? 'superseded' : why // A slow database says so late.
  } finally {
    if (!hasStarted) await guardian?.leave()
    heart.end()
    unwatch()
    // What cannot be released now, the next runner reaps.
    await releaseContainment(containment).catch(() => {})
    forgetPersonas(containment.account)
  }
}

/** What a leader has while it leads. */
type Leader = ReturnType<typeof start>

function start(options: LeadOptions, context: WorkerContext, heart: Heartbeat, guardian: Guardian) {
  const { home, log, bell, settings, concurrency, outage, livenessFile } = options
  const size = crawlWorkers(settings.config, concurrency)
  const pool = workerPool(context, { kind: 'crawl', size, slots: concurrency })
  passOnStops(pool, context.stop)
  const scheduled = new Scheduled(context)
  const listener = listen(home.databaseUrl, context.runnerId, {
    [CHANNELS.work]: () => {
      if (guardian.isUp) pool.wake() // The round counts first what is due.
      scheduled.look()
      bell.wake()
    },
    [CHANNELS.runner]: () => void heart.beat(),
  })
  const reconciler = new Reconciler(context)
  const upkeep = new Upkeep(context)
  const page = new ArchivePageWriter(home, log)
  const disk = new DiskMonitor(home.dataDir, settings.config.DISK_FLOOR, log)
  const liveness = new Liveness(livenessFile)
  const inTurn = oneAtATime()
  const jobs = {
    reconciling: () => inTurn(() => reconciler.whenDue()),
    'the archive’s page': () => inTurn(() => page.write(pool.busy > 0, false)),
    schedules: () => inTurn(() => scheduled.whenDue()),
    upkeep: () => upkeep.whenDue(),
    'disk space': () => heart.isBlockedBy(disk.look() ?? troubleOf(pool)),
    'the liveness file': () => liveness.touch(),
  }
  let endJobs: (() => Promise<void>) | undefined
  const startJobs = () => {
    endJobs ??= startSideJobs(jobs, (name, error) => {
      if (isDatabaseAway(error)) outage.seen(error)
      else log.warn(`${name}: ${messageOf(error)}; trying again`)
    })
  }
  return {
    ...options,
    context,
    heart,
    guardian,
    pool,
    listener,
    reconciler,
    scheduled,
    upkeep,
    page,
    disk,
    liveness,
    inTurn,
    startJobs,
    endJobs: async () => await endJobs?.(),
    /** The database did not answer when we were told to stop. */
    isSilent: false,
    /** The pool's changes that the archive's page has for certain, once that was written on leaving. */
    changesWritten: undefined as number | undefined,
  }
}

/** The orchestrator's loop. */
async function supervise(leader: Leader): Promise<Why> {
  const { bell, context } = leader
  const { drain } = context.stop
  while (!drain.aborted) {
    try {
      const looked = round(leader)
      if (!(await untilLate(looked, SILENT_MS, drain))) break
      if (await looked) return 'idle'
      await bell.wait(POLL_MS, drain)
    } catch (error) {
      if (drain.aborted) break
      leader.startJobs() // The liveness file is touched in an outage, too.
      await bell.wait(await pauseAfter(leader, error), drain)
    }
  }
  return await whyDrained(leader)
}

/** Starts and wakes workers for what is due. True: there is nothing left to do, and we were told to leave then. */
async function round(leader: Leader): Promise<boolean> {
  const { home, scope, exitOnIdle, outage, heart, guardian, pool, liveness, startJobs, context } = leader
  const { inTurn, reconciler, scheduled, page } = leader
  if (outage.isOn) await heart.beat()
  const { due, open } = await openCrawls(home.db, scope, SOON_MS)
  liveness.isWell()
  await pool.killStuck()
  await pool.fill(guardian.isUp ? due : 0)
  if (context.stop.drain.aborted) return false
  startJobs() // The first workers come first.
  if (!exitOnIdle || open > 0 || pool.busy > 0) return false
  if (await inTurn(() => scheduled.isNear(SOON_MS))) return false
  await inTurn(() => reconciler.beforeLeaving())
  pool.drain() // They leave meanwhile; should this fail, others come.
  const { changes } = pool
  await inTurn(() => page.write(pool.used, true))
  leader.changesWritten = changes
  return true
}

/** How long the loop waits after an error. Throws what waiting does not mend. */
async function pauseAfter({ log, outage, heart }: Leader, error: unknown): Promise<number> {
  if (isDatabaseAway(error)) {
    outage.seen(error)
    return AWAY_POLL_MS
  }
  if (isTransient(error)) {
    log.warn(`looking for work: ${messageOf(error)}; trying again`)
    return POLL_MS
  }
  await heart.beat()
  if (!heart.lost) throw error // Else: nothing can be started in the name of a row that somebody deleted.
  return 0
}

async function whyDrained(leader: Leader): Promise<Why> {
  const { home, log, signals, context, heart, pool } = leader
  await failpoint('shutdown.drain_seen')
  if (heart.lost && !signals.stop.drain.aborted) return 'lost'
  // A beat tells whether a newer runner signalled: then the time is shorter. A drain with nothing to wait for is not
  // shown.
  const draining = pool.size === 0 ? undefined : markDraining(home.db, context.runnerId)
  leader.isSilent = !(await untilLate(Promise.all([heart.hear(), draining]), SILENT_MS))
  if (leader.isSilent)
    log.warn('the database does not answer: workers end without it, and the next runner closes what stays open')
  await failpoint('shutdown.row_draining')
  return whyTold(heart, signals)
}

/** Why a lead ends that was told to. */
function whyTold(heart: Heartbeat, { stop: { drain, force } }: Signals): Why {
  if (force.aborted) return 'forced'
  if (heart.handoff) return 'superseded'
  return heart.lost && !drain.aborted ? 'lost' : 'drained'
}

/**
 * Ends what was started, in the opposite order: jobs and workers, then what they left behind. When the former cannot
 * be ended, the guardian stays, and ends them when we are gone.
 */
async function shutDown(leader: Leader): Promise<void> {
  const { home, log, context, pool, guardian, listener, upkeep, page, disk, liveness, outage, endJobs } = leader
  const jobsEnded = endJobs()
  const say = setInterval(() => log.info(whatIsLeft(leader)), SAY_MS)
  await closeWorkers(pool).finally(() => clearInterval(say))
  await failpoint('shutdown.workers_gone')
  // The database may be silent: what does not come to its end in time, the next promotion does.
  let isOver = false
  const last = async () => {
    await jobsEnded
    if (isOver) return // We may lead again: what has our mark is no remainder then.
    try {
      const left = pool.used ? await reapRunner(home, context.runnerId) : undefined
      if (left) log.warn(left.message)
    } catch (error) {
      // Rows that cannot be closed while the database is away are closed by the next promotion.
      log[isDatabaseAway(error) ? 'debug' : 'error'](`cannot reap what remains: ${messageOf(error)}`)
    }
    // A worker may have found something to do before it heard that it shall leave.
    if (!isOver && leader.changesWritten !== pool.changes)
      await page.write(pool.used, true).catch((error: unknown) => log.warn(`archive page: ${messageOf(error)}`))
  }
  liveness.end()
  disk.look() // What was said of it must not stand when it is over.
  const written = last()
  const ms = leader.isSilent || outage.isOn ? LAST_MS.isSilent : LAST_MS.answers
  if (!(await untilLate(written, ms, context.stop.drain)))
    log.warn('the database does not answer: leaving without it; the next runner sees to what is left')
  isOver = true
  await untilLate(Promise.all([listener.close(), upkeep.end()]), SILENT_MS, context.stop.drain)
  await guardian.leave()
}

/** What a stop waits for, in a line. */
function whatIsLeft({ pool, context, outage }: Leader): string {
  const { capMs } = context.stop
  const most = Number.isFinite(capMs) ? `${Math.ceil(capMs / 1_000)} s` : 'what is left of their timeouts'
  const away = outage.isOn ? '; the database is away' : ''
  return `waiting for ${pool.size === 1 ? '1 worker' : `${pool.size} workers`} to end; their hooks have ${most}${away}`
}
