import { untilLate } from '../base/abort.ts'
import { messageOf } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { markDraining, recordContainment } from '../db/processes.ts'
import type { Place } from '../db/runners.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import { forgetPersonas } from '../hooks/account-environment.ts'
import { reconcileSchedules } from '../machines/reconcile-schedules.ts'
import { openCrawls } from '../machines/scope.ts'
import { releaseContainment } from '../processes/containment/containment.ts'
import { isTransient } from '../processes/spawned.ts'
import { aboutNode } from './about-node.ts'
import { Guardian } from './guardian.ts'
import { Heartbeat } from './heartbeat.ts'
import { type Leader, startLeader } from './leader.ts'
import { watchLoop } from './loop-watchdog.ts'
import { NodeReport } from './node-report.ts'
import type { LeadOptions, Why } from './options.ts'
import type { Term } from './promote.ts'
import { SILENT_MS, shutDown } from './shut-down.ts'
import type { Signals } from './signals.ts'

/** The poll is the safety net under the notifications. */
const POLL_MS = 5_000
/** `--exit-on-idle` waits for work that is due this soon, such as a page that was put off for lack of disk space. */
const SOON_MS = 20_000
/** How often a database that is away is tried. */
const AWAY_POLL_MS = 500

/**
 * One leadership, from promotion to resignation. It keeps as many CrawlWorkers as there are crawls due, wakes them, and
 * replaces the dead; on a drain it waits for all of them. While the database is away it starts nothing, and workers
 * keep what their hooks have done until they can write it. Nothing of this term runs any more when it returns.
 */
export async function lead(options: LeadOptions, me: Place, term: Term): Promise<Why> {
  const { home, log, signals, bell, settings, scope, outage, containment } = options
  // Losing trust in this term ends its work, not the runner.
  const stop = signals.stop.part()
  const heart = new Heartbeat(home, me.id, stop, log, outage, () => signals.expectOne())
  const unwatch = watchLoop()
  const owner = { home, processId: me.id, term: term.number }
  const context = { owner, runnerId: me.id, log, stop, bell, settings, scope, containment }
  const node = new NodeReport(home, settings.config.NODE_LOST_SECONDS, log, signals.end)
  let guardian: Guardian | undefined
  let hasStarted = false
  try {
    forgetPersonas(containment.account) // Those of a leader that was killed.
    const about = aboutNode(home, settings)
    if (!options.maintenanceOnly) guardian = new Guardian(context) // It starts in the background.
    const begun = Promise.all([
      reconcileSchedules(home.db),
      // One after the other: with a third connection a leader without descriptors left would wait for those.
      recordContainment(home.db, me.id, containment).then(() => node.begin(about)),
    ])
    if (!(await untilLate(begun, SILENT_MS, stop.drain))) {
      await untilLate(heart.hear(), SILENT_MS)
      return whyTold(heart, signals)
    }
    const [mended] = await begun
    await failpoint('lead.recovered')
    if (mended > 0) log.warn(`${mended} crawls and pages had no schedule: they are queued again`)
    if (!guardian) return 'maintained'
    const leader = startLeader(options, context, heart, guardian, node)
    hasStarted = true
    let why: Why
    try {
      why = await supervise(leader)
      if (why !== 'superseded' && why !== 'lost') options.manager.stops()
    } finally {
      await shutDown(leader)
    }
    return why === 'drained' && heart.handoff ? 'superseded' : why // A slow database reports it late.
  } finally {
    if (!hasStarted) await guardian?.leave()
    heart.end()
    unwatch()
    // The next runner reaps what cannot be released now.
    await releaseContainment(containment).catch(() => {})
    forgetPersonas(containment.account)
  }
}

/** The orchestrator's loop. */
async function supervise(leader: Leader): Promise<Why> {
  const { bell, context } = leader
  const { drain } = context.stop
  while (!drain.aborted) {
    leader.manager.turns()
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

/** Starts and wakes workers for due work. @returns whether nothing is left to do, and we are to exit then */
async function round(leader: Leader): Promise<boolean> {
  const { home, scope, exitOnIdle, outage, heart, guardian, pool, liveness, startJobs, context } = leader
  const { inTurn, reconciler, scheduled, page, isBusyBeside } = leader
  if (outage.isOn) await heart.beat()
  const { due, open } = await openCrawls(home, scope, SOON_MS)
  liveness.isWell()
  await pool.killStuck()
  await pool.fill(guardian.isUp ? due : 0)
  if (context.stop.drain.aborted) return false
  startJobs() // The first workers come first.
  if (!exitOnIdle || open > 0 || pool.busy > 0 || isBusyBeside()) return false
  if (await inTurn(() => scheduled.isNear(SOON_MS))) return false
  await inTurn(() => reconciler.beforeLeaving())
  pool.drain() // They exit meanwhile; if this fails, others come.
  await inTurn(() => page.writeLast(pool))
  return true
}

/** How long the loop waits after an error. Throws what waiting cannot fix. */
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
  if (!heart.lost) throw error // Otherwise: nothing can be started for a row that somebody deleted.
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

/** Why a lead that was told to end does so. */
function whyTold(heart: Heartbeat, { stop: { drain, force } }: Signals): Why {
  if (force.aborted) return 'forced'
  if (heart.handoff) return 'superseded'
  return heart.lost && !drain.aborted ? 'lost' : 'drained'
}
