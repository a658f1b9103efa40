import { TRUST_MS } from '../db/heartbeats.ts'
import { Watchdog } from '../engine/watchdog.ts'

const FEED_MS = 1_000

/**
 * Ends this process, with exit code 70, when its event loop has stood still for as long as a leader may trust its lead:
 * it could not even notice that another leads. The guardian ends its workers, and a standby goes on. A slow or
 * suspended machine is no reason: several looks in a row must find the loop where it was, and none of them counts while
 * the whole process stands still.
 * @returns ends the watch
 */
export function watchLoop(): () => void {
  const watchdog = new Watchdog({ afterMs: TRUST_MS })
  // Its thread starts after a second: a lead that is over by then does not pay for one.
  const timer = setInterval(() => watchdog.feed(true), FEED_MS).unref()
  return () => {
    clearInterval(timer)
    watchdog.close()
  }
}
