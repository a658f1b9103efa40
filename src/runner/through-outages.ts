import { sleep } from '../base/abort.ts'
import { backoff } from '../base/backoff.ts'
import { AppError, codeOf, messageOf } from '../base/errors.ts'
import { explainDatabaseError, isDatabaseAway } from '../db/trouble.ts'
import { isTransient } from '../processes/spawned.ts'
import type { Run, Why, WhyEnded } from './options.ts'

const LONGEST_PAUSE_MS = 5_000

/**
 * Does the work of a runner, registration first, again and again for as long as only the database ends it. Each time
 * the gate decides whether we still lead. Throws an error that waiting cannot fix: a refused login, a database that
 * does not exist.
 */
export async function throughOutages(run: Run, work: () => Promise<Why>): Promise<WhyEnded> {
  const { home, log, outage, signals, manager } = run
  for (let tries = 1; ; tries += 1) {
    const begun = performance.now()
    try {
      const why = await work()
      if (why !== 'lost') return why
    } catch (error) {
      if (isDatabaseAway(error)) {
        outage.seen(error)
        manager.says('waiting for the database, which is away')
      } else if (isTransient(error)) log.warn(`${messageOf(error)}: trying again`)
      else throw unrecoverable(error, home.databaseUrl)
    }
    if (performance.now() - begun > LONGEST_PAUSE_MS) tries = 1
    const { stop } = signals
    await sleep(backoff(tries, { baseMs: 200, maxMs: LONGEST_PAUSE_MS }), stop.drain)
    if (stop.drain.aborted) return stop.force.aborted ? 'forced' : 'drained'
  }
}

function unrecoverable(error: unknown, url: string): unknown {
  if (!['28P01', '28000', '3D000'].includes(codeOf(error) ?? '')) return error
  const { message, hint } = explainDatabaseError(error, url) as AppError
  return new AppError(message, { ...(hint === undefined ? {} : { hint }), cause: error })
}
