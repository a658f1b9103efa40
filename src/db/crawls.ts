import { type Selectable, sql } from 'kysely'
import { uuidv7 } from '../base/ids.ts'
import type { UrlList } from '../base/url-list.ts'
import { domainOf } from '../base/urls.ts'
import { insertParts } from './crawl-sources.ts'
import type { Database } from './database.ts'
import { type NewRow, withRow } from './new-process.ts'
import { transact, withRetry } from './retry.ts'
import type { CrawlTable, LockedCrawl, ScheduledCrawl } from './tables.ts'

export type CrawlRow = Selectable<CrawlTable>

export interface NewCrawl extends ScheduledCrawl {
  readonly list: UrlList
  /** The schedule that it belongs to, and the moment that it is made for. */
  readonly schedule?: { readonly id: string; readonly dueAt: Date }
}

/** The folder for a row's files below the data dir: archive/<kind>/<YYYYMMDD>/<domain>/<id>. */
export function outputDir(kind: 'crawls' | 'snapshots', url: string, id: string, day = new Date()): string {
  return `archive/${kind}/${day.toISOString().slice(0, 10).replaceAll('-', '')}/${domainOf(url)}/${id}`
}

/**
 * Queues a crawl with its whole list, or nothing. It is due at once; the insert wakes the leader.
 * @param id set by the caller of a transaction that may be repeated, or of a crawl that may exist
 * @param by the row of the process that queues it, if that is yet to be written
 */
export async function insertCrawl(
  db: Database,
  { list, ...crawl }: NewCrawl,
  id = uuidv7(),
  by?: NewRow,
): Promise<CrawlRow> {
  const insert = async (tx: Database) =>
    await (by ? withRow(tx, by) : tx)
      .insertInto('crawl')
      .values({
        id,
        urls: list.first.urls,
        urls_total: list.total,
        max_depth: crawl.maxDepth,
        max_urls: crawl.maxUrls,
        max_size: crawl.maxSize,
        tags: [...crawl.tags],
        label: crawl.label,
        config: JSON.stringify(crawl.config),
        output_dir: outputDir('crawls', list.first.urls.split('\n', 1)[0]!, id),
        ...(crawl.schedule && { schedule_id: crawl.schedule.id, due_at: crawl.schedule.dueAt }),
      })
      .onConflict((row) => row.column('id').doUpdateSet({ id })) // Our own row, when an answer was lost.
      .returningAll()
      .executeTakeFirstOrThrow()
  if (!list.isMoreThanUrls) return await withRetry(db, () => insert(db))
  return await transact(db, async (tx) => {
    const row = await insert(tx)
    await insertParts(tx, id, list)
    return row
  })
}

/**
 * Locks a crawl's row for the rest of the transaction. @returns its limits and tags; undefined when it takes no more
 * snapshots
 */
export async function lockCrawl(tx: Database, id: string): Promise<LockedCrawl | undefined> {
  const { rows } = await sql<LockedCrawl>`
    select id, max_urls, max_size, tags from crawl
    where id = ${id} and status in ('queued', 'started') for no key update`.execute(tx)
  return rows[0]
}

/** A crawl's folder, and the node that has it; undefined when it was deleted. */
export async function placeOfCrawl(
  db: Database,
  id: string,
): Promise<Pick<CrawlRow, 'output_dir' | 'home_node'> | undefined> {
  const select = sql<Pick<CrawlRow, 'output_dir' | 'home_node'>>`
    select output_dir, home_node from crawl where id = ${id}`
  return (await withRetry(db, () => select.execute(db))).rows[0]
}

/**
 * Records which plugins could not be set up for a crawl, for the workers of its pages.
 * @returns whether the claim still holds
 */
export async function writeUnable(
  db: Database,
  { id, token }: { readonly id: string; readonly token: string },
  unable: ReadonlyMap<string, string>,
): Promise<boolean> {
  const write = db
    .updateTable('crawl')
    .set({ unable: JSON.stringify(Object.fromEntries(unable)) })
    .where('id', '=', id)
    .where('claim_token', '=', token)
  return (await withRetry(db, () => write.executeTakeFirst())).numUpdatedRows > 0n
}

export async function crawlById(db: Database, id: string): Promise<CrawlRow | undefined> {
  return await withRetry(db, () => db.selectFrom('crawl').selectAll().where('id', '=', id).executeTakeFirst())
}
