import { join, relative } from 'node:path'
import { type Selectable, sql } from 'kysely'
import { pagesOf } from '../db/counts.ts'
import type { CrawlOfPage, CrawlRow } from '../db/crawls.ts'
import type { Home } from '../db/home.ts'
import { resultRecord, snapshotRecord } from '../db/records.ts'
import { withRetry } from '../db/retry.ts'
import type { SnapshotRow } from '../db/snapshots.ts'
import type { ArchiveResultTable, WorkStatus } from '../db/tables.ts'
import { archivePage } from '../pages/archive-page.ts'
import { crawlPage } from '../pages/crawl-page.ts'
import { snapshotPage } from '../pages/snapshot-page.ts'
import { publishFile } from './publish-file.ts'

const MAX_LINES = 5_000
const MAX_CRAWLS = 1_000
/** As many characters of a crawl's URLs as its name may have: there may be a million URLs. */
const LONGEST_NAME = 2_000

/**
 * Writes index.html and index.jsonl of a snapshot that is sealed, or about to be.
 * @param results its results, in order, where they are known
 */
export async function writeSnapshotPages(
  { db, dataDir }: Home,
  snapshot: SnapshotRow,
  crawl: CrawlOfPage,
  results?: readonly Selectable<ArchiveResultTable>[],
): Promise<void> {
  const select = db
    .selectFrom('archive_result')
    .selectAll()
    .where('snapshot_id', '=', snapshot.id)
    .orderBy('hook_name')
    .orderBy('attempt')
  const rows = results ?? (await withRetry(db, () => select.execute()))
  const dir = join(dataDir, snapshot.output_dir)
  const above = relative(snapshot.output_dir, '.')
  const html = snapshotPage({
    url: snapshot.url,
    title: snapshot.title,
    createdAt: snapshot.created_at,
    depth: snapshot.depth,
    tags: crawl.tags,
    crawlHref: `${relative(snapshot.output_dir, crawl.output_dir)}/index.html`,
    topHref: `${above}/index.html`,
    results: rows.map((row) => ({
      plugin: row.plugin,
      hookName: row.hook_name,
      status: row.status,
      output: row.output_str,
      files: row.output_files,
      seconds: row.start_ts && row.end_ts ? (row.end_ts.getTime() - row.start_ts.getTime()) / 1000 : null,
    })),
  })
  const records = [
    snapshotRecord({ ...snapshot, status: 'sealed', retry_at: null, tags: crawl.tags }),
    ...rows.map(resultRecord),
  ]
  const lines = records.map((record) => `${JSON.stringify(record)}\n`).join('')
  const both = [publishFile(join(dir, 'index.jsonl'), lines), publishFile(join(dir, 'index.html'), html)]
  await Promise.allSettled(both) // Neither is left behind by the failure of the other.
  await Promise.all(both)
}

/** Writes the page of a crawl as it stands now. */
export async function writeCrawlPage(home: Home, crawl: CrawlRow, status: WorkStatus): Promise<void> {
  const select = sql<{
    url: string
    title: string | null
    status: WorkStatus
    depth: number
    output_dir: string
    output_size: number
    succeeded: number
    failed: number
  }>`
    select s.url, s.title, s.status, s.depth, s.output_dir, s.output_size, result.succeeded, result.failed
    from snapshot s cross join lateral (
      select count(*) filter (where r.status = 'succeeded') as succeeded, count(*) filter (where r.status = 'failed') as failed
      from latest_result r where r.snapshot_id = s.id
    ) result
    where s.crawl_id = ${crawl.id} order by s.id limit ${MAX_LINES}`
  const count = sql<{ pages: number }>`${pagesOf(sql`${crawl.id}`)}`
  const total = await withRetry(home.db, () => count.execute(home.db))
  const lines = await withRetry(home.db, () => select.execute(home.db))
  const html = crawlPage({
    id: crawl.id,
    urls: crawl.urls.split('\n'),
    label: crawl.label,
    tags: crawl.tags,
    status,
    message: crawl.message,
    maxDepth: crawl.max_depth,
    createdAt: crawl.created_at,
    topHref: `${relative(crawl.output_dir, '.')}/index.html`,
    snapshots: lines.rows.map((row) => ({
      ...row,
      path: relative(crawl.output_dir, row.output_dir),
      size: row.output_size,
    })),
    total: total.rows[0]!.pages,
  })
  await publishFile(join(home.dataDir, crawl.output_dir, 'index.html'), html)
}

/** Writes the top page of the archive. */
export async function writeArchivePage(home: Home): Promise<void> {
  const crawls = sql<{
    name: string
    status: WorkStatus
    created_at: Date
    path: string
    snapshots: number
    sealed: number
  }>`
    select case when label = '' then split_part(left(urls, ${sql.lit(LONGEST_NAME)}), e'\n', 1) else label end as name,
           status, created_at, output_dir as path, count.pages as snapshots, count.sealed
    from (select * from crawl order by id desc limit ${sql.lit(MAX_CRAWLS)}) c cross join lateral (${pagesOf(sql`c.id`)}) count
    order by c.id desc`
  const { rows } = await withRetry(home.db, () => crawls.execute(home.db))
  const counts = sql<{ crawls: number; snapshots: number }>`
    select coalesce(sum(rows) filter (where model = 'crawl'), 0) as crawls, coalesce(sum(rows) filter (where model = 'snapshot'), 0) as snapshots
    from row_count`
  const totals = await withRetry(home.db, () => counts.execute(home.db))
  const html = archivePage({
    crawls: rows.map((row) => ({ ...row, createdAt: row.created_at })),
    totalCrawls: totals.rows[0]!.crawls,
    totalSnapshots: totals.rows[0]!.snapshots,
  })
  await publishFile(join(home.dataDir, 'index.html'), html)
}
