import { messageOf } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import type { Machine } from '../engine/machine.ts'
import { type Claimed, LEASE_SECONDS, type Queue } from '../engine/queue.ts'
import type { Station } from './station.ts'

/** How often an owner renews what it holds: three times per lease. */
const RENEW_MS = (LEASE_SECONDS * 1000) / 3

/**
 * Works on a claimed row while its lease is renewed. `work` gets a signal that aborts when everything is to be dropped at once: on force,
 * and when the claim is lost.
 */
export async function withLease<M extends Machine, Row, T>(
  station: Station,
  queue: Queue<M, Row>,
  claim: Pick<Claimed<M>, 'id' | 'token'>,
  work: (dropped: AbortSignal) => Promise<T>,
): Promise<T> {
  const lost = new AbortController()
  let failures = 0
  const renew = async () => {
    try {
      await failpoint('claim.renewing')
      const held = await queue.renew([claim])
      await failpoint('claim.renewed')
      if (!held.has(claim.id)) lost.abort()
      failures = 0
    } catch (error) {
      failures += 1
      station.log.warn(`${queue.machine.name} ${claim.id}: ${messageOf(error)}`)
      // One renewal may fail with the database; after the second the lease is nearly over, and we cannot know that the row is ours.
      if (failures > 1) lost.abort()
    }
  }
  const timer = setInterval(() => void renew(), RENEW_MS)
  const recheck = () => void renew()
  station.onRecheck.add(recheck)
  try {
    return await work(AbortSignal.any([lost.signal, station.stop.force]))
  } finally {
    clearInterval(timer)
    station.onRecheck.delete(recheck)
  }
}
