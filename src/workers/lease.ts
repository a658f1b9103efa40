import { messageOf } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import type { Machine } from '../engine/machine.ts'
import { type Claimed, LEASE_SECONDS, type Queue } from '../engine/queue.ts'
import type { WorkerContext } from './worker-context.ts'

/** How often an owner renews what it holds: three times per lease. */
const RENEW_MS = (LEASE_SECONDS * 1000) / 3
/** For how long after a renewal an owner believes that the row is its own: it lets go before others may take it. */
const TRUST_MS = LEASE_SECONDS * 1000 - 10_000

/**
 * Works on a claimed row while its lease is renewed. `work` gets a signal that aborts when everything is to be dropped at once: on force,
 * when the claim is lost, and when no renewal came through for so long that it may be.
 */
export async function withLease<M extends Machine, Row, T>(
  context: WorkerContext,
  queue: Queue<M, Row>,
  claim: Pick<Claimed<M>, 'id' | 'token'>,
  work: (abort: AbortSignal) => Promise<T>,
): Promise<T> {
  const lost = new AbortController()
  let isOver = false
  let trust = setTimeout(() => lost.abort(), TRUST_MS)
  const renew = async () => {
    const begun = performance.now()
    try {
      await failpoint('claim.renewing')
      const held = await queue.renew([claim])
      await failpoint('claim.renewed')
      if (isOver) return // The row was given back meanwhile: no news, and nothing left to watch over.
      if (!held.has(claim.id)) return lost.abort()
      clearTimeout(trust)
      trust = setTimeout(() => lost.abort(), TRUST_MS - (performance.now() - begun))
    } catch (error) {
      if (!isOver) context.log.warn(`${queue.machine.name} ${claim.id}: ${messageOf(error)}`)
    }
  }
  const timer = setInterval(() => void renew(), RENEW_MS)
  const recheck = () => void renew()
  context.onRecheck.add(recheck)
  try {
    return await work(AbortSignal.any([lost.signal, context.stop.force]))
  } finally {
    isOver = true
    clearInterval(timer)
    clearTimeout(trust)
    context.onRecheck.delete(recheck)
  }
}
