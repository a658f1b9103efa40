import { untilLate } from '../base/abort.ts'
import { messageOf } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import { reapRunner } from '../workers/supervise/reap.ts'
import { closeWorkers } from '../workers/supervise/worker-pool.ts'
import type { Leader } from './leader.ts'

/** How long a stop waits for a statement in progress: the database may be unresponsive. */
export const SILENT_MS = 1_000
/** How long the work after the last worker's end may take, and while the database is silent. */
const LAST_MS = { answers: 15_000, isSilent: 1_000 } as const
/** How often a stop that takes longer reports what it waits for. */
const SAY_MS = 5_000

/**
 * Ends what was started, in the opposite order: jobs and workers, then their remains. When jobs or workers cannot be
 * ended, the guardian stays, and ends them when we are gone.
 */
export async function shutDown(leader: Leader): Promise<void> {
  const { home, log, context, pool, guardian, listener, upkeep, page, disk, liveness, outage, endJobs } = leader
  const jobsEnded = endJobs()
  const say = setInterval(() => log.info(whatIsLeft(leader)), SAY_MS)
  await closeWorkers(pool).finally(() => clearInterval(say))
  await failpoint('shutdown.workers_gone')
  // The database may be unresponsive: the next promotion does what is not done in time.
  let isOver = false
  const last = async () => {
    await jobsEnded
    if (isOver) return // We may lead again: then not only remains carry our mark.
    try {
      const left = pool.used ? await reapRunner(home, context.runnerId) : undefined
      if (left) log.warn(left.message)
    } catch (error) {
      // The next promotion closes rows that cannot be closed while the database is away.
      log[isDatabaseAway(error) ? 'debug' : 'error'](`cannot reap what remains: ${messageOf(error)}`)
    }
    // A worker may have found something to do before it learned that it is to exit.
    if (!isOver) await page.writeLast(pool).catch((error: unknown) => log.warn(`archive page: ${messageOf(error)}`))
  }
  try {
    liveness.end()
  } catch (error) {
    log.error(`cannot remove the liveness file: ${messageOf(error)}`) // The rest of the stop matters more.
  }
  disk.look() // Reports when a disk that was full has space again.
  const written = last()
  const ms = leader.isSilent || outage.isOn ? LAST_MS.isSilent : LAST_MS.answers
  if (!(await untilLate(written, ms, context.stop.drain)))
    log.warn('the database does not answer: exiting without it; the next runner takes care of the rest')
  isOver = true
  await untilLate(Promise.all([listener.close(), upkeep.end()]), SILENT_MS, context.stop.drain)
  await guardian.leave()
}

/** The workers that a stop waits for, in a line. */
function whatIsLeft({ pool, context, outage }: Leader): string {
  const { capMs } = context.stop
  const most = Number.isFinite(capMs) ? `${Math.ceil(capMs / 1_000)} s` : 'what is left of their timeouts'
  const away = outage.isOn ? '; the database is away' : ''
  return `waiting for ${pool.size === 1 ? '1 worker' : `${pool.size} workers`} to end; their hooks have ${most}${away}`
}
