import { type RawBuilder, sql } from 'kysely'
import type { Database } from './database.ts'
import { byIndex } from './lists/by-index.ts'
import { withRetry } from './retry.ts'
import { type SnapshotRow, tagsOf } from './snapshots.ts'

// The pages in the archive's index, by number: table archived_page. All queries here walk an index, in steps whose cost
// does not grow with the archive.

/** The largest number of pages per chunk: those whose numbers, divided by this, are equal. */
export const PAGES_PER_CHUNK = 1_000

export const chunkOf = (number: number): number => Math.floor(number / PAGES_PER_CHUNK)

/** The index's data of a sealed page. */
export interface ListedPage
  extends Pick<
    SnapshotRow,
    'id' | 'url' | 'title' | 'outcome' | 'cause' | 'http_status' | 'output_dir' | 'output_size' | 'home_node'
  > {
  readonly sealed_at: Date
  readonly tags: readonly string[]
  /** Published files of the plugins that make icons and pictures, relative to `output_dir`. */
  readonly pictures: readonly string[]
}

/** How far the changes have been read. */
export interface ChangeCursor {
  /** A transaction of the server, as text. */
  readonly changed: string
  readonly number: number
}

export interface PageChange {
  readonly number: number
  readonly crawl_id: string
  /** SHA-256 of the URL, hexadecimal. */
  readonly url_hash: string
  /** Null: no longer listed, because it was deleted or reopened. */
  readonly page: ListedPage | null
}

/** Paths of pictures, relative to the folder of the page: an SQL expression. */
const picturesOfPage = (id: RawBuilder<unknown>) => sql`
  array(select r.plugin || '/' || file from archive_result r, jsonb_object_keys(r.output_files) file
        where r.snapshot_id = ${id} and r.plugin = any(array(
          select plugin from plugin_meaning where makes @> '{"picture": true}' or makes @> '{"icon": true}'))
        order by 1)`

/**
 * The next changes after `after` (null: from the first page on), in the order of their transactions. A transaction may
 * commit later than a newer one, so changes are returned again until no older transaction runs.
 * @returns `next`: where this reading continues; `settled`: where a later reading begins
 */
export async function pageChanges(
  db: Database,
  after: ChangeCursor | null,
  limit: number,
): Promise<{ changes: PageChange[]; next: ChangeCursor | null; settled: ChangeCursor }> {
  const horizon = sql<{ xid: string }>`select pg_snapshot_xmin(pg_current_snapshot())::text as xid`
  const select = sql<{
    number: number
    changed: string
    crawl_id: string
    url_hash: string
    page: (Omit<ListedPage, 'sealed_at'> & { sealed_at: string }) | null
  }>`
    select e.number, e.changed::text as changed, e.crawl_id, encode(e.url_hash, 'hex') as url_hash, (
      -- Page by page: PostgreSQL 15 would join with all pages.
      select to_jsonb(page) from (
        select id, url, title, outcome, cause, http_status, status_changed_at as sealed_at, output_dir, output_size,
               home_node,
               ${tagsOf(sql`snapshot.id`)} as tags,
               ${picturesOfPage(sql`snapshot.id`)} as pictures
        from snapshot where id = e.snapshot_id and status = 'sealed'
      ) page
    ) as page
    from (
      select * from archived_page
      where (changed, number) > (${after?.changed ?? '0'}::xid8, ${after?.number ?? 0}::bigint)
      order by changed, number limit ${limit}
    ) e
    order by e.changed, e.number`
  return await byIndex(db, async (tx) => {
    const settled = { changed: (await horizon.execute(tx)).rows[0]!.xid, number: 0 }
    const { rows } = await select.execute(tx)
    const last = rows.at(-1)
    const next = rows.length === limit && last ? { changed: last.changed, number: last.number } : null
    return {
      changes: rows.map(({ page, ...row }) => ({
        ...row,
        page: page && { ...page, sealed_at: new Date(page.sealed_at) },
      })),
      next,
      settled: next && BigInt(next.changed) < BigInt(settled.changed) ? next : settled,
    }
  })
}

/** The key of the advisory lock that admits one writer of the index per data dir; the number is arbitrary. */
const LOCK = 7_241_204

/** Locks the index of a data dir for the rest of the transaction; false while another process holds it. */
export async function lockIndex(tx: Database, dataDirId: string): Promise<boolean> {
  const { rows } = await sql<{ mine: boolean }>`
    select pg_try_advisory_xact_lock(${LOCK}, hashtext(${dataDirId})) as mine`.execute(tx)
  return rows[0]!.mine
}

/** The chunks that hold pages of a crawl, in order, one step along an index for each: an SQL expression. */
export function chunksOfCrawl(crawlId: string): RawBuilder<number[]> {
  const from = (number: unknown) => sql`
    (select a.number / ${sql.lit(PAGES_PER_CHUNK)} from archived_page a
     where a.crawl_id = ${crawlId} and a.number >= ${number} order by a.number limit 1)`
  return sql`array(
    with recursive chunks (chunk) as (
      select ${from(0)}
      union all select ${from(sql`(chunk + 1) * ${sql.lit(PAGES_PER_CHUNK)}`)} from chunks where chunk is not null
    )
    select chunk::integer from chunks where chunk is not null order by chunk)`
}

/**
 * For a page that was found by its id. With `=` the planner may read a whole index of sealed pages, which it believes
 * to be empty.
 */
const IS_SEALED = sql`s.status is not distinct from 'sealed'`

/** One of the copies of a URL. */
export interface PageCopy extends Pick<SnapshotRow, 'id' | 'output_dir' | 'outcome' | 'home_node'> {
  readonly sealed_at: Date
}

/** The sealed copies of one URL, newest first, at most `limit`. @param urlHash SHA-256, hexadecimal */
export async function copiesOfUrl(db: Database, urlHash: string, limit: number): Promise<PageCopy[]> {
  const select = sql<PageCopy>`
    select s.id, s.output_dir, s.outcome, s.home_node, s.status_changed_at as sealed_at
    from archived_page a join snapshot s on s.id = a.snapshot_id
    where a.url_hash = decode(${urlHash}, 'hex') and ${IS_SEALED} order by a.number desc limit ${limit}`
  return (await byIndex(db, (tx) => select.execute(tx))).rows
}

/** Those of these URLs (SHA-256, hexadecimal) that have or had more than one copy. */
export async function copiedUrls(db: Database, urlHashes: readonly string[]): Promise<string[]> {
  if (urlHashes.length === 0) return []
  const select = sql<{ hash: string }>`
    select hash from unnest(${urlHashes}::text[]) hash
    where exists (select 1 from archived_page a where a.url_hash = decode(hash, 'hex') order by a.number offset 1)`
  return (await withRetry(db, () => select.execute(db))).rows.map(({ hash }) => hash)
}

/** Whether another copy of this page's URL exists or existed. An SQL expression. */
export function otherCopies({ id, url_hash }: Pick<SnapshotRow, 'id' | 'url_hash'>): RawBuilder<boolean> {
  return sql`exists (
    select from archived_page where url_hash = ${url_hash} and snapshot_id is distinct from ${id}::uuid)`
}

/** Whether another copy of this page's URL exists or existed. */
export async function hasCopies(db: Database, page: Pick<SnapshotRow, 'id' | 'url_hash'>): Promise<boolean> {
  const select = sql<{ others: boolean }>`select ${otherCopies(page)} as others`
  return (await withRetry(db, () => select.execute(db))).rows[0]!.others
}

/** How many copies of a URL are searched for the one nearest to a moment. */
const COPIES_LOOKED_AT = 5_000

/**
 * The id of the sealed copy of a URL that is nearest to a time, the later one of two; a failed copy only if there is no
 * other. Undefined: there is none.
 * @param urlHash SHA-256, hexadecimal
 */
export async function copyNearest(
  db: Database,
  urlHash: string,
  { from, until }: { readonly from: Date; readonly until: Date },
): Promise<string | undefined> {
  const away = sql`greatest(${from}::timestamptz - at, at - ${until}::timestamptz, interval '0')`
  const select = sql<{ id: string }>`
    select id from (
      select s.id, s.outcome, s.status_changed_at as at
      from archived_page a join snapshot s on s.id = a.snapshot_id
      where a.url_hash = decode(${urlHash}, 'hex') and ${IS_SEALED}
      order by a.number desc limit ${sql.lit(COPIES_LOOKED_AT)}
    ) copy
    order by outcome is not distinct from 'failed', ${away}, at desc limit 1`
  return (await byIndex(db, (tx) => select.execute(tx))).rows[0]?.id
}

/** The published files of the plugins that make icons and pictures, of these pages. */
export async function picturesOf(db: Database, ids: readonly string[]): Promise<Map<string, readonly string[]>> {
  const select = sql<{ id: string; pictures: readonly string[] }>`
    select page.id, ${picturesOfPage(sql`page.id`)} as pictures from unnest(${ids}::uuid[]) page (id)`
  const { rows } = await byIndex(db, (tx) => select.execute(tx))
  return new Map(rows.map(({ id, pictures }) => [id, pictures]))
}

/** Those of these URLs that have a copy here, by their positions: the folder of the latest. */
export async function archivedAmong(db: Database, urls: readonly string[]): Promise<Map<number, string>> {
  const select = sql<{ place: number; output_dir: string }>`
    select asked.place::integer as place, copy.output_dir
    from unnest(${urls}::text[]) with ordinality as asked (url, place)
    cross join lateral (
      select s.output_dir from archived_page a join snapshot s on s.id = a.snapshot_id
      where in_index_order() and a.url_hash = sha256(convert_to(asked.url, 'UTF8')) and ${IS_SEALED}
        and s.outcome in ('archived', 'partial')
      order by a.number desc limit 1
    ) copy`
  const { rows } = await withRetry(db, () => select.execute(db))
  return new Map(rows.map(({ place, output_dir }) => [place - 1, output_dir]))
}

/** When the latest pages were sealed, the last one first: out of this many that were listed last, those still here. */
export async function latestEnds(db: Database, most: number): Promise<Date[]> {
  // Number by number: whatever the planner assumes, it has no other way.
  const select = sql<{ at: Date }>`
    select s.status_changed_at as at
    from (select number from archived_page order by number desc limit 1) last
    cross join generate_series(last.number - ${most}::bigint + 1, last.number) as one (number)
    cross join lateral (select snapshot_id from archived_page a where a.number = one.number offset 0) a
    cross join lateral (select status_changed_at from snapshot where id = a.snapshot_id offset 0) s
    order by s.status_changed_at desc`
  return (await byIndex(db, (tx) => select.execute(tx))).rows.map(({ at }) => at)
}
