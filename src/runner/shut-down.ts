import { untilLate } from '../base/abort.ts'
import { messageOf } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import { reapRunner } from '../workers/supervise/reap.ts'
import { closeWorkers } from '../workers/supervise/worker-pool.ts'
import type { Leader } from './leader.ts'

/** How long a stop waits for a statement that is under way: the database may be silent. */
export const SILENT_MS = 1_000
/** How long what is left to do when the last worker is gone may take; and while the database is silent. */
const LAST_MS = { answers: 15_000, isSilent: 1_000 } as const
/** A stop that takes longer says what it waits for, so often. */
const SAY_MS = 5_000

/**
 * Ends what was started, in the opposite order: jobs and workers, then what they left behind. When the former cannot
 * be ended, the guardian stays, and ends them when we are gone.
 */
export async function shutDown(leader: Leader): Promise<void> {
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
    if (!isOver) await page.writeLast(pool).catch((error: unknown) => log.warn(`archive page: ${messageOf(error)}`))
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
