import type { Bell } from '../base/abort.ts'
import { messageOf } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import type { Stop } from '../base/stop.ts'
import { CHANNELS, listen } from '../db/notifications.ts'
import { markDraining } from '../db/processes.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import { openCrawls } from '../machines/scope.ts'
import { isTransient } from '../processes/spawned.ts'
import { CleanUp } from '../workers/clean-up.ts'
import { reapRunner } from '../workers/reap.ts'
import { crawlWorkers } from '../workers/sizes.ts'
import { Upkeep } from '../workers/upkeep.ts'
import type { WorkerContext } from '../workers/worker-context.ts'
import { WorkerPool } from '../workers/worker-pool.ts'
import { ArchivePageWriter } from './archive-page-writer.ts'
import { DiskMonitor } from './disk-monitor.ts'
import { Heartbeat } from './heartbeat.ts'
import { Liveness } from './liveness.ts'
import type { LeadOptions, WhyEnded } from './options.ts'
import type { Outage } from './outage.ts'
import type { Term } from './promote.ts'
import type { Registered } from './registration.ts'
import { Watchdog } from './watchdog.ts'

/** The poll is the safety net under the notifications. */
const POLL_MS = 5_000
/** What is due so soon is waited for by a runner that leaves when it has nothing to do: a page that was put off for want of disk, too. */
const SOON_MS = 20_000
/** How often a database that is away is looked for. */
const AWAY_POLL_MS = 500

/**
 * One leadership, from promotion to resignation: the orchestrator's loop. It keeps as many CrawlWorkers as there are crawls due, wakes them,
 * and replaces the dead; on a drain it waits for all of them. While the database is away it starts nothing, and workers keep what their hooks
 * have done until they can write it. Nothing of this term runs any more when it returns.
 * @returns `lost` when it could not know any longer that it leads: through the gate again
 */
export async function lead(
  options: LeadOptions,
  me: Registered,
  term: Term,
  outer: Stop,
  bell: Bell,
  outage: Outage,
): Promise<WhyEnded | 'lost'> {
  // The end of our trust in this term ends its work, not the runner.
  const stop = outer.part()
  const { home, log, settings, scope, concurrency, containment } = options
  const context: WorkerContext = {
    owner: { home, processId: me.id, term: term.number },
    runnerId: me.id,
    log,
    stop,
    bell,
    onRecheck: new Set(),
    settings,
    scope,
    containment,
  }
  const watchdog = new Watchdog(context)
  const cleanUp = new CleanUp(context)
  const upkeep = new Upkeep(context)
  const pool = new WorkerPool(context, {
    kind: 'crawl',
    size: crawlWorkers(settings.config, concurrency),
    cwd: home.dataDir,
    slots: concurrency,
  })
  const disk = new DiskMonitor(home.dataDir, settings.config.DISK_FLOOR, log)
  const liveness = new Liveness(options.livenessFile)
  const page = new ArchivePageWriter(home, log, () => pool.busy > 0)
  const heart = new Heartbeat(home, me.id, stop, log, outage)
  const work = listen(home.databaseUrl, me.id, {
    [CHANNELS.work]: () => bell.wake(),
    [CHANNELS.runner]: () => void heart.beat(),
  })
  // At once, even while a query of ours hangs.
  stop.force.addEventListener('abort', () => pool.force())

  /** One round of the loop. True: there is nothing left to do, and we were told to leave then. */
  const round = async (): Promise<boolean> => {
    if (outage.isOn) await heart.beat()
    const { due, open } = await openCrawls(home.db, scope, SOON_MS)
    liveness.touch()
    await pool.killStuck()
    heart.isBlockedBy(disk.look() ?? pool.trouble)
    await pool.fill(watchdog.isUp ? due : 0)
    await cleanUp.whenDue()
    upkeep.whenDue()
    const idle = options.exitOnIdle && open === 0 && pool.busy === 0
    if (idle) await cleanUp.beforeLeaving()
    return idle
  }

  try {
    while (!stop.drain.aborted) {
      try {
        if (await round()) return 'idle'
        await bell.wait(POLL_MS, stop.drain)
      } catch (error) {
        if (isDatabaseAway(error)) {
          outage.seen(error)
          await bell.wait(AWAY_POLL_MS, stop.drain)
        } else if (isTransient(error)) {
          log.warn(`looking for work: ${messageOf(error)}; trying again`)
          await bell.wait(POLL_MS, stop.drain)
        } else {
          await heart.beat()
          if (!heart.lost) throw error // Else: nothing can be started in the name of a row that somebody deleted.
        }
      }
    }
    await failpoint('shutdown.drain_seen')
    if (heart.lost && !outer.drain.aborted) return 'lost'
    // Was it a newer runner who signalled? Then the time is shorter. Nobody sees one drain that has nothing to wait for.
    await Promise.all([heart.handoff || heart.beat(), pool.size === 0 || markDraining(home.db, me.id)])
    await failpoint('shutdown.row_draining')
    if (outer.force.aborted) return 'forced'
    return heart.handoff ? 'superseded' : 'drained'
  } finally {
    await pool.close()
    await failpoint('shutdown.workers_gone')
    // Rows that cannot be closed while the database is away are closed by the next promotion.
    const reaped = pool.used ? reapRunner(home, me.id) : Promise.resolve()
    await reaped.catch((error: unknown) =>
      log[isDatabaseAway(error) ? 'debug' : 'error'](`cannot clean up: ${messageOf(error)}`),
    )
    await failpoint('shutdown.reaped')
    heart.end()
    liveness.end()
    const listenerClosed = work.close()
    await failpoint('shutdown.heart_stopped')
    await page.end(pool.used)
    await Promise.all([listenerClosed, watchdog.leave(), upkeep.end()])
  }
}
