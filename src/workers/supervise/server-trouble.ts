import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { isServerTrouble } from '../../db/trouble.ts'

const SAY_MS = 60_000

/**
 * Logs, once a minute, that the database answers but cannot work (full disk, no connection left) while a worker waits
 * for it. When it does not answer at all, the leader says so for everybody.
 */
export function sayServerTrouble(log: Log): (error: unknown) => void {
  let saidAt = Number.NEGATIVE_INFINITY
  return (error) => {
    const now = performance.now()
    if (!isServerTrouble(error) || now - saidAt < SAY_MS) return
    saidAt = now
    log.warn(`the database cannot do its work, waiting for it: ${messageOf(error)}`)
  }
}
