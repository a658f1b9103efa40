import type { Bell } from '../base/abort.ts'
import { EXIT } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Stop } from '../base/stop.ts'

/**
 * A terminal and the program that started us may both pass on one key press: signals this close together are one.
 */
const SAME_PRESS_MS = 150

/**
 * The only place that handles signals: the first drains, the second kills hooks now, the third leaves at once (the next start sweeps up).
 * Handlers only pull these levers; the loops act. They stay until the process ends: one that is leaving in order must not die of a late signal.
 */
export function followSignals(stop: Stop, bell: Bell, log: Log): void {
  let count = 0
  let last = Number.NEGATIVE_INFINITY
  const onSignal = (signal: NodeJS.Signals) => {
    const now = performance.now()
    if (now - last < SAME_PRESS_MS) return
    last = now
    count += 1
    if (count === 1) {
      log.info(`${signal}: draining; running hooks may finish (again: kill them, a third time: leave at once)`)
      stop.requestDrain()
    } else if (count === 2) {
      log.warn(`${signal}: killing hooks now`)
      process.exitCode = EXIT.interrupted
      stop.requestForce()
    } else {
      log.error(`${signal}: leaving at once; the next start cleans up`)
      process.exit(EXIT.interrupted)
    }
    bell.wake()
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)
}
