import { failpoint } from '../../base/failpoint.ts'
import type { Log } from '../../base/log.ts'
import { onlyPageOf } from '../../db/crawl-progress.ts'
import { type CrawlRow, lockCrawl } from '../../db/crawls.ts'
import { kyselySql } from '../../db/database.ts'
import type { Home } from '../../db/home.ts'
import { type OpenSnapshots, openSnapshots } from '../../db/open-snapshots.ts'
import { transact } from '../../db/retry.ts'
import { ClaimLost } from '../../engine/claimed.ts'
import { ENDED, type Ended } from '../../engine/outcome.ts'
import { cancelCrawls } from '../../machines/commands.ts'
import { crawlMachine } from '../../machines/crawl.ts'
import type { CrawlClaim, crawlQueue, Owner } from '../../machines/queues.ts'
import { writeCrawlPage } from '../index/index-pages.ts'
import { reconcilePages } from '../repair/reconcile-pages.ts'
import type { WorkerContext } from '../supervise/worker-context.ts'

type CrawlQueue = ReturnType<typeof crawlQueue>

/** A crawl with nothing to do for longer than this releases its worker. */
const NAP_SECONDS = 5

/** A condition on a crawl, `work`: it has no open snapshots, and gets none before the seal. */
const IS_OVER = 'crawl_is_over(work.id)'

/** Seals a crawl without open snapshots. False when one was added or opened again in the meantime. Throws ClaimLost. */
export async function sealCrawl(
  { home, processId }: Owner,
  queue: CrawlQueue,
  claim: CrawlClaim<'started'>,
  log?: Log,
): Promise<boolean> {
  const empty = await whyEmpty(home, claim.row)
  if (empty) log?.warn(`crawl ${claim.id}: ${empty.message}`)
  const unshown = await writeCrawlPage(home, claim.id, { ...claim.row, ...empty, status: 'sealed' })
  if (unshown !== undefined) log?.error(`crawl ${claim.id}: ${unshown}`)
  try {
    await queue.move(claim, 'seal', processId, empty, IS_OVER)
    await failpoint('publish.crawl_sealed')
    return true
  } catch (error) {
    if (!(error instanceof ClaimLost)) throw error
    if ((await openSnapshots(home, claim.id)).token !== claim.token) throw error
    return false
  }
}

/** What a crawl without pages says about that; most crawls have no lists, and are not asked. */
async function whyEmpty({ db }: Home, { id, config }: CrawlRow): Promise<Pick<CrawlRow, 'message'> | undefined> {
  if (!config.url_allowlist && !config.url_denylist) return undefined
  const page = await onlyPageOf(db, id)
  return page === undefined
    ? { message: 'no pages: its allow and deny lists leave none, or they were deleted' }
    : undefined
}

/** Whether all open snapshots of a crawl wait: paused, or for another try of a hook. */
export function isIdle({ open, due, claimed, rest_s }: OpenSnapshots): boolean {
  return open && due + claimed === 0 && rest_s > NAP_SECONDS
}

/**
 * Whether another node goes on with a crawl: all that is due of it has its files there, and that node works; or ours is
 * drained, and what it had begun of it is done.
 */
export function isElsewhere({ due, claimed, listed, elsewhere, drains }: OpenSnapshots): boolean {
  return due + claimed === 0 && (drains || (!listed && elsewhere !== null))
}

/**
 * Releases a crawl. It is due at once; an idle one, when the first of its snapshots is.
 * @param counts whether the attempt counts, since it came to nothing
 */
export async function releaseCrawl(
  { home }: Owner,
  queue: CrawlQueue,
  claim: CrawlClaim<'started'>,
  counts: boolean,
): Promise<void> {
  await transact(home.db, async (tx) => {
    // A command that reschedules a snapshot takes this lock first, and wakes the crawl when no worker has it.
    await lockCrawl(tx, claim.id)
    const now = await openSnapshots({ ...home, db: tx }, claim.id)
    const inside = queue.on(kyselySql(tx))
    if (isElsewhere(now)) await inside.update(claim, { home_node: now.drains ? null : now.elsewhere })
    await inside.release(claim, isIdle(now) ? 1_000 * now.rest_s : 0, counts)
  })
}

const SPENT = `given up: ${crawlMachine.states.started.giveUp.after} attempts at this crawl did not finish`

/** Seals a crawl that ended its workers too often, with the pages it has, and reports so on its page. */
export async function giveUpCrawl(
  { owner: { home }, log }: Pick<WorkerContext, 'owner' | 'log'>,
  queue: CrawlQueue,
  claim: CrawlClaim,
): Promise<Ended> {
  log.error(`crawl ${claim.id}: ${SPENT}`)
  await transact(home.db, async (tx) => {
    await queue.on(kyselySql(tx)).update(claim, { message: SPENT })
    await cancelCrawls({ db: tx, dataDir: home.dataDir }, [claim.id])
  })
  await failpoint('publish.crawl_given_up')
  await reconcilePages(home, [claim.id])
  return ENDED
}
