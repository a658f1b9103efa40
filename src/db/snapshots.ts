import { type RawBuilder, type Selectable, sql } from 'kysely'
import { uuidv7 } from '../base/ids.ts'
import type { UrlDetails } from '../base/url-details.ts'
import { isCrawlFull, pageCount } from './counts.ts'
import { lockCrawl, outputDir } from './crawls.ts'
import type { Database } from './database.ts'
import type { Home } from './home.ts'
import { withRetry } from './retry.ts'
import type { LockedCrawl, SnapshotTable } from './tables.ts'

export type SnapshotRow = Selectable<SnapshotTable>

/** A page to be added, with its details; its own settings override those of its crawl. */
export interface NewPage extends UrlDetails {
  readonly url: string
}

/**
 * Adds pages to a crawl, up to its limit; pages that the crawl already has are left unchanged. Runs in the caller's
 * transaction and locks the crawl's row first, so that two workers that add at once count each other's pages. A sealed
 * crawl takes none.
 * @param locked the crawl's row, if the caller has locked it
 * @returns how many were added
 */
export async function insertSnapshots(
  tx: Database,
  crawlId: string,
  pages: readonly NewPage[],
  options: { readonly depth: number; readonly parentId: string | null },
  locked?: LockedCrawl,
): Promise<number> {
  if (pages.length === 0) return 0
  const crawl = locked ?? (await lockCrawl(tx, crawlId))
  if (!crawl || (await isCrawlFull(tx, crawl))) return 0
  const allowed = crawl.max_urls === 0 ? Number.POSITIVE_INFINITY : crawl.max_urls - (await pageCount(tx, crawlId))
  let added = 0
  for (let at = 0; at < pages.length && added < allowed; at += BATCH)
    added += await insertBatch(tx, crawlId, crawl, allowed - added, pages.slice(at, at + BATCH), options)
  return added
}

/** Pages per statement: one second on a slow machine, far below the statement timeout. */
const BATCH = 5_000

async function insertBatch(
  tx: Database,
  crawlId: string,
  crawl: LockedCrawl,
  allowed: number,
  pages: readonly NewPage[],
  options: { readonly depth: number; readonly parentId: string | null },
): Promise<number> {
  // Of a list hardly any page exists already, of the links on a page most do.
  const isAsItIs = options.depth === 0 && pages.length <= allowed
  const fresh = isAsItIs ? pages : (await freshPages(tx, crawlId, pages)).slice(0, allowed)
  if (fresh.length === 0) return 0
  const { ids, insert } = insertPages(fresh, options, sql`(select ${crawlId}::uuid as id) crawl`)
  const inserted = await sql<{ id: string }>`${insert} returning id`.execute(tx)
  const added = new Set(inserted.rows.map(({ id }) => id))
  if (added.size > 0 && crawl.tags.length > 0) await tagSnapshots(tx, [...added], crawl.tags)
  const own = fresh.flatMap(({ tags = [] }, index) => {
    const id = ids[index]!
    return added.has(id) ? tags.map((tag) => ({ id, tag })) : []
  })
  if (own.length > 0) await tagEach(tx, own)
  return added.size
}

/**
 * The statement that adds pages to a crawl; existing ones stay as they are.
 * @param crawl a source of one row, named `crawl`, with the id of the crawl; without the row no page is added
 */
export function insertPages(
  pages: readonly NewPage[],
  { depth, parentId }: { readonly depth: number; readonly parentId: string | null },
  crawl: RawBuilder<unknown>,
): { readonly ids: readonly string[]; readonly insert: RawBuilder<unknown> } {
  const ids = pages.map(() => uuidv7())
  const dirs = pages.map(({ url }, index) => outputDir('snapshots', url, ids[index]!))
  const column = (of: (page: NewPage) => string | undefined) => pages.map((page) => of(page) ?? null)
  const insert = sql`
    insert into snapshot (id, crawl_id, parent_snapshot_id, url, url_hash, title, depth, output_dir, notes,
      bookmarked_at, settings)
    select page.id, crawl.id, ${parentId}::uuid, url, sha256(convert_to(url, 'UTF8')), title, ${depth}::int, dir,
      page.notes, page.at, page.settings
    from ${crawl} cross join unnest(${ids}::uuid[], ${column(({ url }) => url)}::text[],
      ${column(({ title }) => title)}::text[], ${dirs}::text[], ${column(({ notes }) => notes)}::text[],
      ${column(({ at }) => at)}::timestamptz[],
      ${column(({ settings }) => settings && JSON.stringify(settings))}::jsonb[])
      as page (id, url, title, dir, notes, at, settings)
    on conflict (crawl_id, url_hash) do nothing`
  return { ids, insert }
}

/**
 * The pages that the crawl does not have yet, without duplicates. Each hash is looked up as the first of a range in the
 * one index of this order: with `=`, all pages of the crawl may be read, of which the planner expects few.
 */
async function freshPages<Page extends { readonly url: string }>(
  tx: Database,
  crawlId: string,
  pages: readonly Page[],
): Promise<Page[]> {
  const byUrl = new Map<string, Page>()
  for (const page of pages) if (!byUrl.has(page.url)) byUrl.set(page.url, page)
  const { rows } = await sql<{ url: string }>`
    select asked.url from (
      select url, sha256(convert_to(url, 'UTF8')) as hash from unnest(${[...byUrl.keys()]}::text[]) as u (url) offset 0
    ) asked cross join lateral (
      select url_hash from snapshot
      where in_index_order() and crawl_id = ${crawlId} and url_hash between asked.hash and asked.hash
      order by url_hash limit 1
    ) found`.execute(tx)
  for (const { url } of rows) byUrl.delete(url)
  return [...byUrl.values()]
}

/** Gives each snapshot each tag. */
export async function tagSnapshots(
  tx: Database,
  snapshotIds: readonly string[],
  tags: readonly string[],
): Promise<void> {
  await makeTags(tx, tags)
  await sql`
    insert into snapshot_tag (snapshot_id, tag_id)
    select s.id, t.id from unnest(${snapshotIds}::uuid[]) as s (id) cross join tag t where t.name = any(${tags}::text[])
    on conflict do nothing`.execute(tx)
}

/** Gives snapshots tags of their own. */
async function tagEach(tx: Database, pairs: readonly { readonly id: string; readonly tag: string }[]): Promise<void> {
  const tags = pairs.map(({ tag }) => tag)
  await makeTags(tx, tags)
  await sql`
    insert into snapshot_tag (snapshot_id, tag_id)
    select pair.id, t.id
    from unnest(${pairs.map(({ id }) => id)}::uuid[], ${tags}::text[]) as pair (id, name) join tag t using (name)
    on conflict do nothing`.execute(tx)
}

/** The names of a page's tags, in order: an SQL expression, which has no join that a statement could have planned. */
export function tagsOf(snapshotId: RawBuilder<unknown>): RawBuilder<string[]> {
  return sql`array(
    select (select name from tag where id = st.tag_id) from snapshot_tag st where st.snapshot_id = ${snapshotId}
    order by 1)`
}

/** The names of a page's tags, in order. */
export async function tagsOfPage(db: Database, id: string): Promise<string[]> {
  const select = sql<{ tags: string[] }>`select ${tagsOf(sql`${id}::uuid`)} as tags`
  return (await withRetry(db, () => select.execute(db))).rows[0]!.tags
}

export async function snapshotById(db: Database, id: string): Promise<SnapshotRow | undefined> {
  return await db.selectFrom('snapshot').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Snapshots of a crawl in a state, in the order of their ids, after `after`; `only`: restricted to these. */
export async function snapshotsIn(
  db: Database,
  crawlId: string,
  status: 'sealed' | 'paused',
  {
    after,
    limit,
    only,
  }: { readonly after: string | undefined; readonly limit: number; readonly only?: readonly string[] | undefined },
): Promise<SnapshotRow[]> {
  const inCrawl = only
    ? sql<boolean>`id = any(${only}::uuid[]) and crawl_id is not distinct from ${crawlId}`
    : sql<boolean>`in_index_order() and crawl_id = ${crawlId}`
  const wanted = db.selectFrom('snapshot').selectAll().where(inCrawl).where('status', 'is not distinct from', status)
  const rest = after === undefined ? wanted : wanted.where('id', '>', after)
  return await rest.orderBy('id').limit(limit).execute()
}

/** A condition on a page, `s`: some of its results have not ended. */
export const HAS_OPEN_RESULTS = sql<boolean>`
  exists (select from archive_result r where r.snapshot_id = s.id and r.status in ('queued', 'started', 'backoff'))`

/**
 * Locks pages of this node that were sealed before outcomes existed, newest first, for the rest of the transaction;
 * skips locked ones.
 */
export async function lockUnjudged(
  { db: tx, dataDirId }: Pick<Home, 'db' | 'dataDirId'>,
  limit: number,
): Promise<(Pick<SnapshotRow, 'id' | 'output_dir'> & { readonly is_open: boolean })[]> {
  const { rows } = await sql<Pick<SnapshotRow, 'id' | 'output_dir'> & { is_open: boolean }>`
    select id, output_dir, ${HAS_OPEN_RESULTS} as is_open
    from snapshot s
    where status = 'sealed' and outcome is null and (home_node is null or home_node = ${dataDirId})
    order by id desc limit ${limit} for no key update skip locked`.execute(tx)
  return rows
}

/** The crawls of these snapshots, without duplicates. */
export async function crawlsOfSnapshots(db: Database, ids: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ crawl_id: string }>`
    select distinct crawl_id from snapshot where id = any(${ids}::uuid[])`.execute(db)
  return rows.map(({ crawl_id }) => crawl_id)
}

/** Always in the same order: two transactions that create the same tags must not wait for each other. */
async function makeTags(tx: Database, tags: readonly string[]): Promise<void> {
  const names = [...new Set(tags)].sort()
  await sql`insert into tag (name) select unnest(${names}::text[]) on conflict (name) do nothing`.execute(tx)
}
