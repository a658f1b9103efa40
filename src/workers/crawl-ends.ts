import { failpoint } from '../base/failpoint.ts'
import { lockCrawl } from '../db/crawls.ts'
import { kyselySql } from '../db/database.ts'
import { transact } from '../db/retry.ts'
import { type OpenSnapshots, openSnapshots } from '../db/snapshots.ts'
import { cancelCrawls } from '../machines/commands.ts'
import type { CrawlClaim, crawlQueue, Owner } from '../machines/queues.ts'
import { writeCrawlPage } from './index-pages.ts'
import { reconcilePages } from './reconcile-pages.ts'

type CrawlQueue = ReturnType<typeof crawlQueue>

/** A crawl with nothing to do for longer than this releases its worker. */
const NAP_SECONDS = 5

/** Seals a crawl without open snapshots. False when one was added in the meantime. */
export async function sealCrawl(
  { home, processId }: Owner,
  queue: CrawlQueue,
  claim: CrawlClaim<'started'>,
): Promise<boolean> {
  await writeCrawlPage(home, claim.row, 'sealed')
  return await transact(home.db, async (tx, again) => {
    if (again && (await queue.on(kyselySql(tx)).hasMoved(claim, 'sealed'))) return true
    // Whoever adds a snapshot takes this lock first, so none can appear between our check and the seal.
    await lockCrawl(tx, claim.id)
    if ((await openSnapshots(tx, claim.id)).open) return false
    await queue.on(kyselySql(tx)).move(claim, 'seal', processId)
    return true
  })
}

/** Do all open snapshots of a crawl wait: paused, or until a hook is tried again? */
export function isIdle({ open, due, claimed, rest_s }: OpenSnapshots): boolean {
  return open && due + claimed === 0 && rest_s > NAP_SECONDS
}

/**
 * Releases a crawl. It is due at once; an idle one, when the first of its snapshots is.
 * @param counts the attempt counts: it came to nothing
 */
export async function releaseCrawl(
  { home }: Owner,
  queue: CrawlQueue,
  claim: CrawlClaim<'started'>,
  counts: boolean,
): Promise<void> {
  await transact(home.db, async (tx) => {
    // Whoever reschedules a snapshot from outside takes this lock first, and wakes the crawl when no worker has it.
    await lockCrawl(tx, claim.id)
    const now = await openSnapshots(tx, claim.id)
    await queue.on(kyselySql(tx)).release(claim, isIdle(now) ? 1_000 * now.rest_s : 0, counts)
  })
}

/** Seals a crawl that ended its workers too often, with the pages it has, and says so on its page. */
export async function giveUpCrawl(
  { home }: Owner,
  queue: CrawlQueue,
  claim: CrawlClaim,
  message: string,
): Promise<void> {
  await transact(home.db, async (tx) => {
    await queue.on(kyselySql(tx)).update(claim, { message })
    await cancelCrawls({ db: tx, dataDir: home.dataDir }, [claim.id])
  })
  await failpoint('publish.crawl_given_up')
  await reconcilePages(home, [claim.id])
}
