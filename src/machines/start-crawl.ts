import { sql } from 'kysely'
import { type ListPart, urlsOfPart } from '../base/url-list.ts'
import { archivableUrl, urlFilter } from '../base/urls.ts'
import { RELAXED } from '../db/relaxed.ts'
import { withRetry } from '../db/retry.ts'
import { insertPages, type NewPage } from '../db/snapshots.ts'
import type { CrawlConfig } from '../db/tables.ts'
import { crawlMachine } from './crawl.ts'
import { idsOf, movedRows } from './moved.ts'
import type { CrawlClaim, crawlQueue, Owner } from './queues.ts'

/**
 * Starts a crawl of a few plain URLs, like most: it becomes `started`, and gets its pages, by one statement.
 * @param isRelaxed its commit does not wait for the disk: the first write on a page does, before anybody acts on this
 * @returns undefined: it has limits, tags, or a list that does not fit into its row; or its list was read before; or
 * the   claim is lost
 */
export async function startAtOnce(
  { home, processId }: Owner,
  queue: ReturnType<typeof crawlQueue>,
  claim: CrawlClaim<'queued'>,
  isRelaxed: boolean,
): Promise<CrawlClaim<'started'> | undefined> {
  const { id, token, row } = claim
  // Limits are counted, and tags are given, in a transaction that has locked the crawl's row.
  if (row.next_part !== 0 || row.max_urls > 0 || row.max_size > 0 || row.tags.length > 0) return undefined
  const pages = wantedPages({ urls: row.urls, details: '' }, row.config)
  const { insert } = insertPages(pages, { depth: 0, parentId: null }, sql`begun crawl`)
  const to = crawlMachine.states.queued.on.start
  const start = sql`
    with ${movedRows(crawlMachine, {
      as: 'begun',
      rows: idsOf([id]),
      from: ['queued'],
      event: 'start',
      token: sql`${token}::uuid`,
      guard: sql`work.next_part = 0 and (select min(part) from crawl_source where crawl_id = ${id}) is null
        and not exists (select from crawl_detail where crawl_id = ${id} and part = 0)`,
      set: { next_part: 'null', home_node: sql`${home.dataDirId}::uuid` },
      by: sql`${processId}::uuid`,
    })}, added as (${insert})
    select ${isRelaxed ? RELAXED : sql`null`} from begun`
  return await withRetry(home.db, async (again) => {
    const { rows } = await start.execute(home.db)
    const isStarted = rows.length > 0 || (again && (await queue.hasMoved(claim, to)))
    return isStarted ? { ...claim, state: to } : undefined
  })
}

/** The pages of a part of a crawl's list that its patterns allow. */
export function wantedPages(
  part: ListPart,
  { url_allowlist: allow = '', url_denylist: deny = '' }: CrawlConfig,
): NewPage[] {
  const pages = urlsOfPart(part).map(({ url, details }) => ({ ...details, url: archivableUrl(url) }))
  const inside = urlFilter(allow, deny)
  return pages.filter(({ url }) => inside(url))
}
