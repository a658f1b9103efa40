import { failpoint } from '../../base/failpoint.ts'
import { ENDED, Ended, RELEASED } from '../../engine/outcome.ts'
import { ClaimLost } from '../../engine/queue.ts'
import type { SnapshotClaim, snapshotQueue } from '../../machines/queues.ts'
import type { PageInWork } from './page-in-work.ts'
import { hooksAt, type PageState } from './page-state.ts'
import type { Way } from './plan.ts'
import { sealSnapshot } from './seal-snapshot.ts'

export type SnapshotQueue = ReturnType<typeof snapshotQueue>

/** Ends the work on a page, for good or for now. Throws ClaimLost, or the reason why it is left. */
export async function endRound(page: PageInWork, queue: SnapshotQueue, state: PageState, way: Way): Promise<Ended> {
  const { claim, tree, results, tick } = page
  const started = { ...claim, state: 'started' } as SnapshotClaim<'started'>
  switch (way.do) {
    case 'put off':
      orLost(claim, await queue.release(claim, way.afterMs))
      await failpoint('claim.turn_put_off')
      return RELEASED
    case 'leave':
    case 'release':
      for (const { result } of hooksAt(state, 'open')) await results.interrupt(result) // It had not begun.
      await results.write()
      if (way.do === 'leave') throw tick.signal.reason
      await tree.keep() // A person may pause the page meanwhile, and then its results count.
      orLost(claim, await queue.release(started, way.afterMs, way.counts))
      await failpoint('claim.snapshot_released')
      return state.hasProgressed && state.service !== 'lost' ? ENDED : RELEASED
    case 'seal':
      return await seal(page, queue, started, state)
  }
}

function orLost({ id }: SnapshotClaim, isReleased: boolean): void {
  if (!isReleased) throw new ClaimLost(`snapshot ${id} was taken away`)
}

async function seal(
  { context, crawl, tree, findings, results, tick, hooks }: PageInWork,
  queue: SnapshotQueue,
  claim: SnapshotClaim<'started'>,
  { whyNot }: PageState,
): Promise<Ended> {
  const { owner, log } = context
  const whyNone = whyNot?.kind === 'beyond' ? whyNot.reason : undefined
  const ended = { crawl, tree, hooks, found: findings, results, whyNone, log }
  const { end, next } = await sealSnapshot(owner, queue, claim, ended, tick)
  log.about({ crawl_id: crawl.id, snapshot_id: claim.id }).ended(end)
  return new Ended(next)
}
