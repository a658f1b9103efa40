import { type RawBuilder, sql } from 'kysely'
import { chunksOfCrawl } from './archived-pages.ts'
import { type CountedPages, NO_PAGES, type PageCounts, pagesOf } from './counts.ts'
import type { Database } from './database.ts'
import { withRetry } from './retry.ts'
import type { WorkStatus } from './tables.ts'

// Crawls as their pages on disk show them. All queries are bounded, however many pages a crawl has.

/** The number of crawls on the archive's page. */
const MOST_CRAWLS = 100
/** How many characters of a crawl's URLs are read for its name: there may be a million URLs. */
const LONGEST_NAME = 2_000

/** A crawl's name and progress. */
export interface CrawlSummary {
  readonly label: string
  /** The first of its list. */
  readonly urls: readonly string[]
  readonly urlsTotal: number
  readonly firstTitle: string | null
  readonly pages: number
  readonly sealed: number
  /** Sealed pages by outcome. */
  readonly partial: number
  readonly failed: number
}

interface SummaryRow extends CountedPages {
  readonly label: string
  readonly urls: string
  readonly is_cut: boolean
  readonly urls_total: number
  readonly title: string | null
}

/** The columns of a SummaryRow, for crawls `c`. */
const columns = sql`
  c.label, left(c.urls, ${sql.lit(LONGEST_NAME)}) as urls, length(c.urls) > ${sql.lit(LONGEST_NAME)} as is_cut,
  c.urls_total,
  (select s.title from snapshot s where in_index_order() and s.crawl_id = c.id order by s.id limit 1) as title, count.*`
const counted = (from: RawBuilder<unknown>) => sql`
  from ${from} c cross join lateral (${pagesOf(sql`c.id`)}) count`

/** A crawl as its own page shows it. */
export interface CrawlFacts extends CrawlSummary {
  readonly counts: PageCounts
  /** The chunks of the index that hold its pages, in order. */
  readonly chunks: readonly number[]
}

export async function crawlFacts(db: Database, id: string): Promise<CrawlFacts> {
  const select = sql<FactsRow>`
    select ${columns}, ${chunksOfCrawl(id)} as chunks
    ${counted(sql`(select * from crawl where id = ${id})`)}`
  const row = (await withRetry(db, () => select.execute(db))).rows[0] ?? GONE
  const { partial, failed } = row.counts
  // Includes pages that were sealed before outcomes existed and are not judged yet: they count as they did then.
  const counts = { ...row.counts, archived: row.sealed - partial - failed }
  return { ...summaryOf(row), counts, chunks: row.chunks }
}

interface FactsRow extends SummaryRow {
  readonly chunks: readonly number[]
}

/** The crawl is being deleted, and its page with it. */
const GONE: FactsRow = {
  label: '',
  urls: '',
  is_cut: false,
  urls_total: 0,
  title: null,
  pages: 0,
  sealed: 0,
  counts: NO_PAGES,
  chunks: [],
}

/** The latest crawls, newest first, and the totals of the archive. */
export async function latestCrawls(
  db: Database,
  most = MOST_CRAWLS,
): Promise<{
  crawls: (CrawlSummary & {
    readonly id: string
    /** Its folder, relative to the data dir. */
    readonly folder: string
    readonly status: WorkStatus
    readonly createdAt: Date
    readonly home_node: string | null
  })[]
  totals: { readonly crawls: number; readonly bytes: number }
}> {
  const crawls = sql<
    SummaryRow & { id: string; status: WorkStatus; created_at: Date; output_dir: string; home_node: string | null }
  >`
    select ${columns}, c.id, c.status, c.created_at, c.output_dir, c.home_node
    ${counted(sql`(select * from crawl order by id desc limit ${sql.lit(most)})`)} order by c.id desc`
  const totals = sql<{ crawls: number; bytes: number }>`
    select coalesce(sum(rows) filter (where model = 'crawl'), 0) as crawls,
           coalesce(sum(bytes) filter (where model = 'snapshot'), 0) as bytes
    from row_count`
  const { rows } = await withRetry(db, () => crawls.execute(db))
  return {
    crawls: rows.map((row) => ({
      ...summaryOf(row),
      id: row.id,
      folder: row.output_dir,
      status: row.status,
      createdAt: row.created_at,
      home_node: row.home_node,
    })),
    totals: (await withRetry(db, () => totals.execute(db))).rows[0]!,
  }
}

function summaryOf({
  urls,
  is_cut,
  urls_total,
  title,
  label,
  pages,
  sealed,
  counts: { partial, failed },
}: SummaryRow): CrawlSummary {
  const all = urls.split('\n').filter(Boolean)
  return {
    label,
    // The last line may be cut off.
    urls: is_cut && all.length > 1 ? all.slice(0, -1) : all,
    urlsTotal: urls_total,
    firstTitle: title,
    pages,
    sealed,
    partial,
    failed,
  }
}
