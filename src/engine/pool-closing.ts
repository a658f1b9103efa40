import type { Bell } from '../base/abort.ts'
import type { Stop } from '../base/stop.ts'
import type { Roster } from './roster.ts'
import type { Standstill } from './standstill.ts'

/** An actor that has not exited this long after a force is killed. */
const DEAF_MS = 3_000
/** How long to wait for the reaping of the last actors: the database may be unresponsive, and others can reap, too. */
const REAP_MS = 3_000
const FORCED_REAP_MS = 1_000
/** How often actors that should exit are checked. */
const CLOSING_MS = 2_000

/**
 * Drains a pool, and waits until all actors are gone, and a moment for them to be reaped; `force` of the stop cuts the
 * wait short. It does not wait for a process that nobody can end.
 */
export async function closePool(roster: Roster, stuck: Standstill, stop: Stop, bell: Bell): Promise<void> {
  roster.drain(stop)
  for (const slot of roster.in('idle')) slot.askedAt ??= performance.now()
  let killTimer: NodeJS.Timeout | undefined
  const onForce = () => {
    roster.force(stop)
    killTimer = setTimeout(() => roster.kill(), DEAF_MS)
  }
  stop.force.addEventListener('abort', onForce)
  if (stop.force.aborted) onForce()
  let goneAt = Number.POSITIVE_INFINITY
  for (let lookAt = performance.now() + CLOSING_MS, over = 0; roster.size > 0; ) {
    const mayGo = [...roster.there].some((slot) => !slot.hasSurvived)
    goneAt = mayGo ? Number.POSITIVE_INFINITY : Math.min(goneAt, performance.now())
    if (performance.now() - goneAt > (stop.force.aborted ? FORCED_REAP_MS : REAP_MS)) break
    // Repeating the order is harmless, and reaches an actor that was still starting the first time.
    roster.drain(stop)
    await bell.wait(200)
    if (performance.now() < lookAt) continue
    lookAt = performance.now() + CLOSING_MS
    // Callers that wait for the pool must not wait for a stuck actor: it has had its time, and as much again.
    over = stop.capMs === 0 ? over + CLOSING_MS : 0
    if (over > DEAF_MS) roster.kill()
    stuck.killLeaving()
  }
  clearTimeout(killTimer)
  stop.force.removeEventListener('abort', onForce)
}
