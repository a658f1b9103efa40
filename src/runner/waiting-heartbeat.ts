import { messageOf } from '../base/errors.ts'
import type { Stop } from '../base/stop.ts'
import { BEAT_MS, sayThere } from '../db/heartbeats.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import type { Run } from './options.ts'

/** The heartbeat of a runner that does not lead. */
export interface WaitingHeartbeat {
  /** Drains with the runner, and when our row is gone: then there is nothing left to wait for. */
  readonly stop: Stop
  /** Aborts when somebody else has closed or deleted our row. */
  readonly lost: AbortSignal
  /** Makes `status` show the reason why we wait. */
  readonly waitsFor: (reason: string | null) => void
  readonly end: () => void
}

/**
 * Keeps reporting that a runner is alive and why it waits; notices when its row is closed or deleted, and that the
 * database is away. Without it a standby would wait beside a dead database, or for a row that nobody sees.
 */
export function beatWhileWaiting({ id, home, log, signals, outage, manager }: Run): WaitingHeartbeat {
  const stop = signals.stop.part()
  const lost = new AbortController()
  let reason: string | null = null
  let ended = false
  const end = () => {
    ended = true
    clearInterval(timer)
  }
  const beat = async () => {
    try {
      const isThere = await sayThere(home.db, id, reason)
      if (ended) return
      outage.over()
      if (isThere) return
      log.warn('the row of this runner was closed or deleted by somebody else: registering again')
      end()
      lost.abort()
      stop.requestDrain()
    } catch (error) {
      if (ended) return
      if (isDatabaseAway(error)) outage.seen(error)
      else log.warn(`heartbeat failed: ${messageOf(error)}`)
    }
  }
  const timer = setInterval(() => void beat(), BEAT_MS)
  const waitsFor = (now: string | null) => {
    if (reason === now) return
    reason = now
    if (now !== null) manager.says(now)
    void beat()
  }
  return { stop, lost: lost.signal, waitsFor, end }
}
