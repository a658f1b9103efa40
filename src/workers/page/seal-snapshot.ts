import { isMachineTrouble, messageOf } from '../../base/errors.ts'
import { failpoint } from '../../base/failpoint.ts'
import type { Log, PageEnd } from '../../base/log.ts'
import { archivableUrl, urlFilter } from '../../base/urls.ts'
import { meaningsIn } from '../../db/meanings.ts'
import { transact, withRetry } from '../../db/retry.ts'
import { insertSnapshots, tagSnapshots } from '../../db/snapshots.ts'
import { isDatabaseAway } from '../../db/trouble.ts'
import { ClaimLost } from '../../engine/claimed.ts'
import type { Context } from '../../engine/handlers.ts'
import type { Hook } from '../../hooks/discover.ts'
import type { SnapshotRecord } from '../../hooks/records.ts'
import type { WorkTree } from '../../hooks/work-tree.ts'
import type { CrawlOfPage } from '../../machines/before-page.ts'
import { ALL_ENDED, type FinishedPage, finishPage, skipOpenResults } from '../../machines/finish-page.ts'
import { judgeResults } from '../../machines/judge.ts'
import type { Owner, SnapshotClaim, snapshotQueue } from '../../machines/queues.ts'
import type { ResultChange } from '../../machines/results.ts'
import { titleIn } from '../../machines/title-in.ts'
import { type JudgedResult, withoutIndex } from '../../machines/verdict.ts'
import { writeSnapshotPages } from '../index/index-pages.ts'
import type { Findings } from './findings.ts'
import type { PageResults } from './page-results.ts'

interface SealedPage {
  /** How the page ended. */
  readonly end: PageEnd
  /** The page that was claimed with the seal. */
  readonly next: SnapshotClaim | undefined
}

/** A page whose hooks have all ended. */
interface EndedPage {
  readonly crawl: CrawlOfPage
  readonly tree: WorkTree
  readonly hooks: readonly Hook[]
  readonly found: Findings
  readonly results: PageResults
  /** Why it has no hooks. */
  readonly whyNone: string | undefined
  readonly log: Log
}

/**
 * Ends a page: writes the rest of its results, adds what they found, judges it, writes its index and seals it, with or
 * without an index. The page stays open until the last step, so that its crawl never looks finished in between; after a
 * crash the next claim repeats the steps. No lock is held while files are flushed. Throws ClaimLost, also when the
 * server has died and lost what we wrote.
 */
export async function sealSnapshot(
  owner: Owner,
  queue: ReturnType<typeof snapshotQueue>,
  claim: SnapshotClaim<'started'>,
  page: EndedPage,
  tick: Context,
): Promise<SealedPage> {
  const { crawl, tree, whyNone } = page
  const meanings = await meaningsIn(owner.home.db)
  const title = titleIn(tree.root, meanings) ?? claim.row.title
  const finished = await page.results.writeLastWith((changes, begun) => addFindings(owner, claim, page, changes, begun))
  const { results, output_size, now } = finished
  await failpoint('publish.page_findings_added')
  // Before the seal: nobody would come back to do it after a crash.
  tree.close()
  const judged = judgeResults(tree.root, latest(results), meanings)
  const found = whyNone !== undefined && results.length === 0 ? { ...judged, cause: whyNone } : judged
  const sealed = { ...claim.row, output_size, title, ...found, status: 'sealed', status_changed_at: now } as const
  // Its crawl is worked on here, too.
  const known = { ...finished, snapshot: sealed, crawl: { ...crawl, home_node: null } }
  const unshown = await writeSnapshotPages(owner.home, claim.id, known).catch(unlessOurs)
  if (unshown !== undefined) page.log.error(`snapshot ${claim.id}: ${unshown}`)
  const verdict = withoutIndex(found, unshown)
  await failpoint('publish.page_written')
  const written = { ...verdict, title, output_size }
  const next = await queue.moveAndClaim(claim, 'seal', tick.next?.(), owner.processId, written, ALL_ENDED)
  await failpoint('publish.page_sealed')
  return { end: { url: claim.row.url, title, outcome: verdict.outcome, cause: verdict.cause }, next }
}

/** Why a page has no index: its own files are in the way, and it is sealed without. Throws anything else. */
function unlessOurs(error: unknown): string {
  if (isMachineTrouble(error) || isDatabaseAway(error) || error instanceof ClaimLost) throw error
  return `its index cannot be written: ${messageOf(error)}`
}

/** The last attempt of each hook. */
function latest(results: FinishedPage['results']): JudgedResult[] {
  const byHook = new Map(results.map((result) => [`${result.plugin}/${result.hook_name}`, result]))
  return [...byHook.values()].map((result) => ({ ...result, has_files: Object.keys(result.output_files).length > 0 }))
}

async function addFindings(
  owner: Owner,
  claim: SnapshotClaim<'started'>,
  { crawl, hooks, found }: EndedPage,
  changes: readonly ResultChange[],
  begun: number | undefined,
): Promise<FinishedPage> {
  const { db } = owner.home
  const { id, depth } = claim.row
  const children = depth < crawl.max_depth ? childrenOf(crawl, found.pages) : []
  if (children.length === 0 && found.tags.length === 0) {
    const finished = await withRetry(db, () => finishPage(db, owner, claim, changes, begun))
    if (areEnded(finished, hooks)) return finished
  }
  return await transact(db, async (tx) => {
    await insertSnapshots(tx, crawl.id, children, { depth: depth + 1, parentId: id })
    if (found.tags.length > 0) await tagSnapshots(tx, [id], found.tags)
    const finished = await finishPage(tx, owner, claim, changes, begun)
    if (areEnded(finished, hooks)) return finished
    await skipOpenResults(tx, id, 'its plugin is missing or disabled')
    return await finishPage(tx, owner, claim, [])
  })
}

/** Whether all results have ended. Throws ClaimLost when the end of one of these hooks was written and then lost. */
function areEnded({ results }: FinishedPage, hooks: readonly Hook[]): boolean {
  const open = results.filter(({ end_ts }) => end_ts === null)
  const lost = open.find((result) =>
    hooks.some((hook) => hook.plugin === result.plugin && hook.name === result.hook_name),
  )
  if (lost) throw new ClaimLost(`archive_result ${lost.id}: its end was written and then lost`)
  return open.length === 0
}

/** The found pages that belong to the crawl: archivable, inside its filters, without duplicates. */
function childrenOf(crawl: CrawlOfPage, pages: readonly SnapshotRecord[]): SnapshotRecord[] {
  const inside = urlFilter(crawl.config.url_allowlist ?? '', crawl.config.url_denylist ?? '')
  const children = new Map<string, SnapshotRecord>()
  for (const page of pages) {
    try {
      const url = archivableUrl(page.url)
      if (inside(url) && !children.has(url)) children.set(url, { ...page, url })
    } catch {
      // Not a valid URL: a hook may print anything.
    }
  }
  return [...children.values()]
}
