import { messageOf } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import type { Log } from '../base/log.ts'
import { markEnded } from '../db/processes.ts'
import { withRetry } from '../db/retry.ts'
import { terminateBackendsOf } from '../db/runners.ts'
import { homeFromEnvironment } from '../workers/supervise/home-environment.ts'
import { reapRunner } from '../workers/supervise/reap.ts'

/** How long the guardian waits for a database that is away: the next runner can close the rows as well. */
const PATIENCE_MS = 10_000

/**
 * Cleans up in the database for a runner whose processes are all gone: ends its sessions, makes its claims due, closes
 * its rows. The next runner does what is not done in time.
 */
export async function reconcileAfter(databaseUrl: string, runnerId: string, log: Log): Promise<void> {
  const home = homeFromEnvironment(databaseUrl, 'guardian', runnerId, {
    connections: 1,
    patience: { until: AbortSignal.timeout(PATIENCE_MS) },
  })
  try {
    await withRetry(home.db, async () => {
      await terminateBackendsOf(home, [runnerId])
      const left = await reapRunner(home, runnerId)
      await markEnded(home.db, runnerId, null)
      if (left) log.warn(left.message)
    })
    await failpoint('guardian.closed')
    log.info(`closed the rows of runner ${runnerId}`)
  } catch (error) {
    log.warn(`the rows of runner ${runnerId} stay open, the next runner closes them: ${messageOf(error)}`)
  } finally {
    await home.db.destroy().catch(() => {})
  }
}
