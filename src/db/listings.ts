import { type RawBuilder, type Selectable, sql } from 'kysely'
import { pagesOf } from './counts.ts'
import type { CrawlRow } from './crawls.ts'
import type { Database } from './database.ts'
import { eachRow } from './each-row.ts'
import { crawlRecord, resultRecord, snapshotRecord } from './records.ts'
import type { SnapshotRow } from './snapshots.ts'
import { type ArchiveResultTable, RESULT_STATUSES, WORK_STATUSES } from './tables.ts'

/** What narrows a listing down; of several values of one filter, any may match. */
export interface Filters {
  readonly status: readonly string[]
  readonly urlContains: string
  readonly crawlId: string
  readonly snapshotId: string
  readonly plugins: readonly string[]
  readonly tags: readonly string[]
}

type Where = { readonly [F in keyof Omit<Filters, 'status'>]: (value: Filters[F]) => RawBuilder<unknown> }

/** A model by its names: for people, in records, in the database. */
export interface Model {
  readonly noun: 'crawl' | 'snapshot' | 'result'
  readonly type: 'Crawl' | 'Snapshot' | 'ArchiveResult'
  readonly table: 'crawl' | 'snapshot' | 'archive_result'
  readonly statuses: readonly string[]
}

/** A model as people list it: where its rows come from, and what each filter means for it. The row is called `it`. */
export interface Listing<Row extends { readonly id: string }> extends Model {
  readonly rows: RawBuilder<Row>
  readonly where: Where
  /** What rows belong to: with one of these filters they go by that first, whose index is walked. */
  readonly above?: { readonly column: 'snapshot_id'; readonly filters: readonly (keyof Filters)[] }
  readonly record: (row: Row) => object
}

export type ListedCrawl = CrawlRow & { readonly pages: number; readonly sealed: number }
export type ListedSnapshot = SnapshotRow & { readonly tags: readonly string[] }
export type ListedResult = Selectable<ArchiveResultTable> & { readonly url: string }

const contains = (column: RawBuilder<unknown>, text: string) => sql`strpos(lower(${column}), lower(${text})) > 0`
/** A part of a URL, in any case; the index on page_url, where there is one, knows patterns alone. */
const pageContains = (snapshotId: RawBuilder<unknown>, text: string) => sql`
  ${snapshotId} in (select snapshot_id from page_url where page_url.url like '%' || lower(${text.replaceAll(/[\\%_]/g, '\\$&')}) || '%')`
/** With one tag, as is usual, this is a walk along the index of that tag's pages. */
const tagged = (snapshotId: RawBuilder<unknown>, tags: readonly string[]) => {
  const each = tags.map((tag) => sql`select st.snapshot_id from snapshot_tag st where st.tag_id = (select id from tag where name = ${tag})`)
  return sql`${snapshotId} in (${sql.join(each, sql` union `)})`
}

export const CRAWLS: Listing<ListedCrawl> = {
  noun: 'crawl',
  type: 'Crawl',
  table: 'crawl',
  statuses: WORK_STATUSES,
  rows: sql`select it.*, count.pages, count.sealed from crawl it cross join lateral (${pagesOf(sql`it.id`)}) count`,
  where: {
    urlContains: (text) => contains(sql`it.urls`, text),
    crawlId: (id) => sql`it.id = ${id}`,
    snapshotId: (id) => sql`it.id = (select crawl_id from snapshot where id = ${id})`,
    plugins: (plugins) => sql`
      exists (select 1 from snapshot s join archive_result r on r.snapshot_id = s.id where s.crawl_id = it.id and r.plugin = any(${plugins}::text[]))`,
    tags: (tags) => sql`it.tags && ${tags}::text[]`,
  },
  record: crawlRecord,
}

export const SNAPSHOTS: Listing<ListedSnapshot> = {
  noun: 'snapshot',
  type: 'Snapshot',
  table: 'snapshot',
  statuses: WORK_STATUSES,
  rows: sql`
    select it.*, array(select t.name from snapshot_tag st join tag t on t.id = st.tag_id where st.snapshot_id = it.id order by 1) as tags
    from snapshot it`,
  where: {
    urlContains: (text) => pageContains(sql`it.id`, text),
    crawlId: (id) => sql`it.crawl_id = ${id}`,
    snapshotId: (id) => sql`it.id = ${id}`,
    plugins: (plugins) => sql`exists (select 1 from archive_result r where r.snapshot_id = it.id and r.plugin = any(${plugins}::text[]))`,
    tags: (tags) => tagged(sql`it.id`, tags),
  },
  record: snapshotRecord,
}

export const RESULTS: Listing<ListedResult> = {
  noun: 'result',
  type: 'ArchiveResult',
  table: 'archive_result',
  statuses: RESULT_STATUSES,
  rows: sql`select it.*, page.url from archive_result it join snapshot page on page.id = it.snapshot_id`,
  above: { column: 'snapshot_id', filters: ['urlContains', 'crawlId', 'tags'] },
  where: {
    urlContains: (text) => pageContains(sql`page.id`, text),
    crawlId: (id) => sql`page.crawl_id = ${id}`,
    snapshotId: (id) => sql`it.snapshot_id = ${id}`,
    plugins: (plugins) => sql`it.plugin = any(${plugins}::text[])`,
    tags: (tags) => tagged(sql`page.id`, tags),
  },
  record: resultRecord,
}

/**
 * Shows the rows that match every filter to `visit`, newest first: by id, and ids are made in the order of time.
 * @param limit at most so many; all of them when not given
 * @param visit answers false when it has seen enough
 */
export async function eachListed<Row extends { readonly id: string }>(
  db: Database,
  listing: Listing<Row>,
  options: { readonly filters?: Partial<Filters>; readonly limit?: number },
  visit: (row: Row) => boolean,
): Promise<void> {
  const { status, ...filters } = options.filters ?? {}
  const names = Object.keys(filters) as (keyof typeof filters)[]
  const conditions = names.map((name) => conditionOf(listing.where, name, filters[name]))
  const isByOwner = listing.above?.filters.some((name) => options.filters?.[name] !== undefined)
  const order = sql`order by ${isByOwner ? sql`it.${sql.ref(listing.above!.column)} desc, ` : sql``}it.id desc`
  const inOrder = options.limit === undefined ? order : sql`${order} limit ${options.limit}`
  const having = (statuses: RawBuilder<unknown>) => sql<Row>`
    ${listing.rows} where ${sql.join([statuses, ...conditions], sql` and `)} ${inOrder}`
  if (status === undefined) return await eachRow(db, having(sql`true`), visit)
  const [one, ...others] = status
  if (others.length === 0) return await eachRow(db, having(sql`it.status = ${one}`), visit)
  if (options.limit === undefined) return await eachRow(db, having(sql`it.status = any(${status}::text[])`), visit)
  // The index has the rows of one status in order, not those of several: so many of each, and of these the newest.
  const each = [...new Set(status)].map((status) => sql`(${having(sql`it.status = ${status}`)})`)
  await eachRow(db, sql<Row>`select * from (${sql.join(each, sql` union all `)}) it ${inOrder}`, visit)
}

function conditionOf<F extends keyof Where>(where: Where, name: F, value: unknown): RawBuilder<unknown> {
  return where[name](value as Filters[F])
}

/** The rows with these ids, in the order of the ids; one that is not there is left out. */
export async function listedByIds<Row extends { readonly id: string }>(
  db: Database,
  listing: Listing<Row>,
  ids: readonly string[],
): Promise<Row[]> {
  const { rows } = await sql<Row>`${listing.rows} where it.id = any(${ids}::uuid[])`.execute(db)
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

/**
 * The ids that lie in each of these ranges (both ends included), in the order of the ranges: at most three of each, enough to see that a
 * prefix is not unique.
 */
export async function idsInRanges(
  db: Database,
  { table }: Model,
  ranges: readonly { readonly low: string; readonly high: string }[],
): Promise<string[][]> {
  const { rows } = await sql<{ ids: string[] }>`
    select array(select it.id::text from ${sql.table(table)} it where it.id between r.low and r.high order by it.id limit 3) as ids
    from unnest(${ranges.map(({ low }) => low)}::uuid[], ${ranges.map(({ high }) => high)}::uuid[]) with ordinality as r (low, high, place)
    order by r.place`.execute(db)
  return rows.map(({ ids }) => ids)
}
