import { messageOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { isServerTrouble } from '../db/trouble.ts'

const SAY_MS = 60_000

/**
 * For a worker that waits: says, once a minute, that the database answers but cannot do its work (its disk is full, it
 * has no connection left). Of a database that does not answer at all the leader speaks, for all of them.
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
