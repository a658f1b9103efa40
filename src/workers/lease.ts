import { messageOf } from '../base/errors.ts'
import { type Claimed, ClaimLost, RENEW_MS, renewClaim } from '../machines/claim.ts'
import type { Machine } from '../machines/define.ts'
import type { Station } from './station.ts'

/**
 * Works on a claimed row while its lease is renewed. `work` gets a signal that aborts when everything is to be dropped at once: on force,
 * and when the claim is lost.
 */
export async function withLease<M extends Machine, T>(
  station: Station,
  claim: Claimed<M>,
  work: (dropped: AbortSignal) => Promise<T>,
): Promise<T> {
  const lost = new AbortController()
  let failures = 0
  const renew = async () => {
    try {
      await renewClaim(station.owner, claim)
      failures = 0
    } catch (error) {
      failures += 1
      station.log.warn(`${claim.machine.name} ${claim.id}: ${messageOf(error)}`)
      // Two of three renewals may fail with the database; after that the lease may be over, and we cannot know that the row is ours.
      if (error instanceof ClaimLost || failures > 1) lost.abort()
    }
  }
  const timer = setInterval(() => void renew(), RENEW_MS)
  try {
    return await work(AbortSignal.any([lost.signal, station.stop.force]))
  } finally {
    clearInterval(timer)
  }
}
