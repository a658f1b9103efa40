import { type Selectable, sql } from 'kysely'
import { uuidv7 } from '../base/ids.ts'
import { domainOf } from '../base/urls.ts'
import type { Database } from './database.ts'
import { repeatable } from './patience.ts'
import type { CrawlConfig, CrawlTable } from './tables.ts'

export type CrawlRow = Selectable<CrawlTable>

export interface NewCrawl {
  /** Canonical URLs, at least one. */
  readonly urls: readonly string[]
  readonly maxDepth: number
  readonly maxUrls: number
  readonly maxSize: number
  readonly tags: readonly string[]
  readonly label: string
  readonly config: CrawlConfig
}

/** Where the files of something lie below the data dir: archive/<kind>/<YYYYMMDD>/<domain>/<id>. */
export function outputDir(kind: 'crawls' | 'snapshots', url: string, id: string, day = new Date()): string {
  return `archive/${kind}/${day.toISOString().slice(0, 10).replaceAll('-', '')}/${domainOf(url)}/${id}`
}

/** Queues a crawl: one row, due at once; the insert itself wakes the leader. */
export async function insertCrawl(db: Database, crawl: NewCrawl): Promise<CrawlRow> {
  const id = uuidv7()
  const insert = db
    .insertInto('crawl')
    .values({
      id,
      urls: crawl.urls.join('\n'),
      max_depth: crawl.maxDepth,
      max_urls: crawl.maxUrls,
      max_size: crawl.maxSize,
      tags: [...crawl.tags],
      label: crawl.label,
      config: JSON.stringify(crawl.config),
      output_dir: outputDir('crawls', crawl.urls[0]!, id),
      claim_token: null,
      claimed_by: null,
    })
    .onConflict((row) => row.column('id').doUpdateSet({ id })) // Ours, from before an answer was lost.
    .returningAll()
  return await repeatable(db, () => insert.executeTakeFirstOrThrow())
}

/** Takes a crawl's row for the rest of the transaction; its limits and tags, unless it takes no more snapshots. */
export async function lockCrawl(tx: Database, id: string): Promise<{ max_urls: number; tags: string[] } | undefined> {
  const { rows } = await sql<{ max_urls: number; tags: string[] }>`
    select max_urls, tags from crawl where id = ${id} and status in ('queued', 'started') for no key update`.execute(tx)
  return rows[0]
}

/** Has this crawl ever been started? Then its URLs have been made into snapshots. */
export async function wasStarted(db: Database, id: string): Promise<boolean> {
  const { rows } = await sql`select 1 from transition where row_id = ${id} and model = 'crawl' and event = 'start' limit 1`.execute(db)
  return rows.length > 0
}

/** What a page needs to know of its crawl: not its URLs, of which there may be a million. */
export type CrawlOfPage = Omit<CrawlRow, 'urls'>

export async function crawlOfPage(db: Database, id: string): Promise<CrawlOfPage | undefined> {
  const select = db.selectFrom('crawl').select(CRAWL_OF_PAGE).where('id', '=', id)
  return await repeatable(db, () => select.executeTakeFirst())
}

const CRAWL_OF_PAGE = [
  'id',
  'max_depth',
  'max_urls',
  'max_size',
  'tags',
  'label',
  'message',
  'config',
  'output_dir',
  'status',
  'retry_at',
  'claim_token',
  'claimed_by',
  'attempts',
  'moved_by',
  'created_at',
  'modified_at',
  'status_changed_at',
] as const satisfies readonly (keyof CrawlTable)[]

export async function crawlById(db: Database, id: string): Promise<CrawlRow | undefined> {
  return await repeatable(db, () => db.selectFrom('crawl').selectAll().where('id', '=', id).executeTakeFirst())
}
