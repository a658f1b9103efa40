import { sleep } from '../base/abort.ts'
import { failpoint } from '../base/failpoint.ts'
import { markResigned } from '../db/processes.ts'
import type { RunOptions } from './options.ts'

/** How long an ending runner waits for the database; less when it was told to kill its hooks. */
const BOUND_MS = 5_000
export const FORCED_BOUND_MS = 2_000
const PAUSE_MS = 250

/**
 * Closes our row: the last thing that a runner does. It retries while the database is away, but not for long: then the
 * next runner closes the row.
 * @param code our exit code
 */
export async function resign({ id, home, log }: RunOptions, code: number, boundMs = BOUND_MS): Promise<void> {
  const bound = new AbortController()
  const closed = (async () => {
    while (!bound.signal.aborted) {
      try {
        await markResigned(home.db, id, code)
        return true
      } catch {
        await sleep(PAUSE_MS, bound.signal)
      }
    }
  })()
  const isClosed = await Promise.race([closed, sleep(boundMs, bound.signal)])
  bound.abort()
  if (!isClosed) log.warn('the database is away: the row of this runner stays open, the next one closes it')
  await failpoint('shutdown.row_closed')
}
