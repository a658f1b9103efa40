import { type RawBuilder, type Selectable, sql } from 'kysely'
import { firstIdOf } from '../base/ids.ts'
import { byIndex } from './by-index.ts'
import { type PageCounts, pagesOf } from './counts.ts'
import type { CrawlRow } from './crawls.ts'
import type { Database } from './database.ts'
import { eachRow, type Visit } from './each-row.ts'
import { crawlRecord, resultRecord, snapshotRecord } from './records.ts'
import { type SnapshotRow, tagsOf } from './snapshots.ts'
import { type ArchiveResultTable, type Outcome, RESULT_STATUSES, WORK_STATUSES } from './tables.ts'

/** What a listing is filtered by; a row matches a filter if it matches any of its values. */
export interface Filters {
  readonly status: readonly string[]
  /** Of sealed pages; for a crawl, of any of its pages; for a result, of its page. */
  readonly outcomes: readonly Outcome[]
  readonly urlContains: string
  /** Of the page's URL, in lower case, with its port when the URL has one; of a crawl, that of a URL of its list. */
  readonly host: string
  readonly crawlId: string
  readonly snapshotId: string
  readonly plugins: readonly string[]
  readonly tags: readonly string[]
  /** Added at this moment or later, and before that one: by its id, which is made of the time. */
  readonly after: Date
  readonly before: Date
}

type One<F> = F extends readonly (infer Each)[] ? Each : F
/** What one value of each filter means. */
type Where = { readonly [F in keyof Filters]: (value: One<Filters[F]>) => RawBuilder<unknown> }

/** A model by its names: for people, in records, in the database. */
export interface Model {
  readonly noun: 'crawl' | 'snapshot' | 'result'
  readonly type: 'Crawl' | 'Snapshot' | 'ArchiveResult'
  readonly table: 'crawl' | 'snapshot' | 'archive_result'
  readonly statuses: readonly string[]
}

/** A listing of a model: the source of its rows, named `it`, and what each filter means for it. */
export interface Listing<Row extends { readonly id: string }> extends Model {
  readonly rows: RawBuilder<Row>
  readonly where: Where
  /** The columns whose index holds the rows of each value in order, by the filter that is one value of them. */
  readonly indexed: Readonly<Partial<Record<keyof Filters, string>>>
  /** The parent of the rows: with one of these filters, the parent's index is walked first. */
  readonly above?: { readonly column: 'snapshot_id'; readonly filters: readonly (keyof Filters)[] }
  readonly record: (row: Row) => object
}

export type ListedCrawl = CrawlRow & { readonly pages: number; readonly sealed: number; readonly counts: PageCounts }
export type ListedSnapshot = SnapshotRow & { readonly tags: readonly string[] }
export type ListedResult = Selectable<ArchiveResultTable> & { readonly url: string }

/**
 * A value hidden from the planner. For a frequent value it assumes that matches are everywhere, and walks through all
 * other rows to find the oldest ones. The index that holds the rows of this value in order is always right.
 */
const unseen = (value: string) => sql`(select ${value})`
const contains = (column: RawBuilder<unknown>, text: string) => sql`strpos(lower(${column}), lower(${text})) > 0`
/** A part of a URL, in any case; the trigram index on page_url serves only patterns. */
const pageContains = (snapshotId: RawBuilder<unknown>, text: string) => sql`
  ${snapshotId} in (select snapshot_id from page_url
    where page_url.url like '%' || lower(${text.replaceAll(/[\\%_]/g, '\\$&')}) || '%')`
const onHost = (snapshotId: RawBuilder<unknown>, host: string) => sql`
  ${snapshotId} in (select snapshot_id from page_url where url_host(page_url.url) = ${unseen(host)})`
/** The text is searched first: it is in few lists. */
const listsHost = (urls: RawBuilder<unknown>, host: string) => sql`
  (${contains(urls, host)} and exists (
    select from string_to_table(lower(${urls}), e'\\n') line where url_host(line) = ${host}))`
const tagged = (snapshotId: RawBuilder<unknown>, tag: string) => sql`
  ${snapshotId} in (select st.snapshot_id from snapshot_tag st
    where st.tag_id = (select id from tag where name = ${tag}))`

/** No later page of a crawl has results: those that are queued, and come first in a list, need not be looked at. */
const lastWithResult = (crawlId: string) => sql`(
  select r.snapshot_id from archive_result r
  where r.snapshot_id <= (select s.id from snapshot s where s.crawl_id = ${crawlId} order by s.id desc limit 1)
  order by r.snapshot_id desc limit 1)`

const byTime: Pick<Where, 'after' | 'before'> = {
  after: (moment) => sql`it.id >= ${firstIdOf(moment)}::uuid`,
  before: (moment) => sql`it.id < ${firstIdOf(moment)}::uuid`,
}

export const CRAWLS: Listing<ListedCrawl> = {
  noun: 'crawl',
  type: 'Crawl',
  table: 'crawl',
  statuses: WORK_STATUSES,
  rows: sql`
    select it.*, count.pages, count.sealed, count.counts
    from crawl it cross join lateral (${pagesOf(sql`it.id`)}) count`,
  where: {
    status: (status) => sql`it.status = ${unseen(status)}`,
    outcomes: (outcome) => sql`(
      select sum(p.pages) from crawl_pages p where p.crawl_id = it.id and p.outcome = ${outcome}) > 0`,
    urlContains: (text) => sql`(${contains(sql`it.urls`, text)}
      or exists (select 1 from crawl_source part where part.crawl_id = it.id and ${contains(sql`part.urls`, text)}))`,
    host: (host) => sql`(${listsHost(sql`it.urls`, host)}
      or exists (select 1 from crawl_source part where part.crawl_id = it.id and ${listsHost(sql`part.urls`, host)}))`,
    crawlId: (id) => sql`it.id = ${id}`,
    snapshotId: (id) => sql`it.id = (select crawl_id from snapshot where id = ${id})`,
    plugins: (plugin) => sql`
      exists (select 1 from snapshot s join archive_result r on r.snapshot_id = s.id
        where s.crawl_id = it.id and r.plugin = ${plugin})`,
    tags: (tag) => sql`${tag} = any(it.tags)`,
    ...byTime,
  },
  indexed: { status: 'status' },
  record: crawlRecord,
}

export const SNAPSHOTS: Listing<ListedSnapshot> = {
  noun: 'snapshot',
  type: 'Snapshot',
  table: 'snapshot',
  statuses: WORK_STATUSES,
  rows: sql`select it.*, ${tagsOf(sql`it.id`)} as tags from snapshot it`,
  where: {
    status: (status) => sql`it.status = ${unseen(status)}`,
    outcomes: (outcome) => sql`it.outcome = ${unseen(outcome)}`,
    urlContains: (text) => pageContains(sql`it.id`, text),
    host: (host) => onHost(sql`it.id`, host),
    crawlId: (id) => sql`it.crawl_id = ${unseen(id)}::uuid`,
    snapshotId: (id) => sql`it.id = ${id}`,
    plugins: (plugin) =>
      sql`exists (select 1 from archive_result r where r.snapshot_id = it.id and r.plugin = ${plugin})`,
    tags: (tag) => tagged(sql`it.id`, tag),
    ...byTime,
  },
  indexed: { status: 'status', outcomes: 'outcome', crawlId: 'crawl_id' },
  record: snapshotRecord,
}

export const RESULTS: Listing<ListedResult> = {
  noun: 'result',
  type: 'ArchiveResult',
  table: 'archive_result',
  statuses: RESULT_STATUSES,
  rows: sql`select it.*, page.url from archive_result it join snapshot page on page.id = it.snapshot_id`,
  above: { column: 'snapshot_id', filters: ['outcomes', 'urlContains', 'host', 'crawlId', 'tags'] },
  where: {
    status: (status) => sql`it.status = ${unseen(status)}`,
    outcomes: (outcome) => sql`page.outcome = ${unseen(outcome)}`,
    urlContains: (text) => pageContains(sql`page.id`, text),
    host: (host) => onHost(sql`page.id`, host),
    crawlId: (id) => sql`(page.crawl_id = ${unseen(id)}::uuid and page.id <= ${lastWithResult(id)})`,
    snapshotId: (id) => sql`it.snapshot_id = ${id}`,
    plugins: (plugin) => sql`it.plugin = ${unseen(plugin)}`,
    tags: (tag) => tagged(sql`page.id`, tag),
    ...byTime,
  },
  indexed: { status: 'status', plugins: 'plugin' },
  record: resultRecord,
}

/**
 * Passes the rows that match every filter to `visit`, newest first: by id, since ids are made in the order of time.
 * @param limit at most this many; all when not given
 */
export async function eachListed<Row extends { readonly id: string }>(
  db: Database,
  listing: Listing<Row>,
  options: { readonly filters?: Partial<Filters>; readonly limit?: number },
  visit: Visit<Row>,
): Promise<void> {
  const filters = options.filters ?? {}
  const isByOwner = listing.above?.filters.some((name) => filters[name] !== undefined)
  const index = options.limit === undefined ? undefined : soleIndex(listing, filters)
  const inOrder = (column: string | undefined) => sql`
    order by ${column === undefined ? sql`` : sql`it.${sql.ref(column)} desc, `}it.id desc
    ${options.limit === undefined ? sql`` : sql`limit ${options.limit}`}`
  const owner = isByOwner ? listing.above!.column : undefined
  const matching = (all: readonly RawBuilder<unknown>[]) => sql<Row>`
    ${listing.rows} where ${sql.join([sql`true`, ...all], sql` and `)} ${inOrder(index?.column ?? owner)}`
  const show = async (query: RawBuilder<Row>) => {
    if (options.limit === undefined || options.limit > MOST_AT_ONCE) return await eachRow(db, query, visit)
    // Without a cursor: a cursor is planned for the first tenth of the rows.
    const { rows } = await byIndex(db, (tx) => query.execute(tx))
    for (const row of rows) if (!(await visit(row))) return
  }
  const where = { ...listing.where, ...index?.where }
  const each = Object.entries(filters).map(([name, value]) => eachOf(where, name as keyof Filters, value))
  const choices = choicesOf(each)
  if (choices.length === 1) return await show(matching(choices[0]!))
  if (options.limit === undefined || choices.length > MOST_CHOICES)
    return await show(matching(each.map((any) => sql`(${sql.join(any, sql` or `)})`)))
  // An index holds the rows of one status in order, not those of several: reads the limit from each and keeps the
  // newest.
  const parts = choices.map((all) => sql`(${matching(all)})`)
  await show(sql<Row>`select * from (${sql.join(parts, sql` union `)}) it ${inOrder(owner)}`)
}

/**
 * The index to walk along for rows that are filtered by one column of it, and by time. Its column is compared as a
 * range, and the rows are asked for in its order: with an equality, whose rows are in the order of ids alone, the
 * planner takes a value for frequent, and walks through all rows, newest first, to find what there is of it.
 */
function soleIndex<Row extends { readonly id: string }>(
  { indexed }: Listing<Row>,
  filters: Partial<Filters>,
): { readonly column: string; readonly where: Partial<Where> } | undefined {
  const [name, another] = (Object.keys(filters) as (keyof Filters)[]).filter((key) => !(key in byTime))
  const column = name && indexed[name]
  if (column === undefined || another !== undefined) return undefined
  const isOnly = (value: string) => sql`it.${sql.ref(column)} between ${value} and ${value}`
  return { column, where: { [name!]: isOnly } }
}

const MOST_CHOICES = 30
const MOST_AT_ONCE = 1_000

/** What each value of a filter means. */
function eachOf<F extends keyof Filters>(where: Where, name: F, value: unknown): RawBuilder<unknown>[] {
  const values = (Array.isArray(value) ? [...new Set(value)] : [value]) as One<Filters[F]>[]
  return values.map((one) => where[name](one))
}

/** Every combination with one of each. */
function choicesOf<T>(each: readonly (readonly T[])[]): T[][] {
  return each.reduce<T[][]>((choices, some) => choices.flatMap((choice) => some.map((one) => [...choice, one])), [[]])
}

/** The rows with these ids, in the order of the ids; missing ones are left out. */
export async function listedByIds<Row extends { readonly id: string }>(
  db: Database,
  listing: Listing<Row>,
  ids: readonly string[],
): Promise<Row[]> {
  const { rows } = await sql<Row>`${listing.rows} where it.id = any(${ids}::uuid[])`.execute(db)
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

/** From one id to another, both included. */
interface IdRange {
  readonly low: string
  readonly high: string
}

/**
 * The ids in the first range, or, read backwards, in the second: at most six per pair, enough to see that a prefix or
 * suffix is not unique.
 */
export async function idsInRanges(
  db: Database,
  table: Model['table'] | 'process' | 'machine' | 'schedule',
  ranges: readonly { readonly begins: IdRange; readonly ends: IdRange }[],
): Promise<string[][]> {
  const uuids = (pick: (range: (typeof ranges)[number]) => string) => sql`${ranges.map(pick)}::uuid[]`
  const backwards = sql`reverse(replace(it.id::text, '-', ''))::uuid`
  const ask = sql<{ ids: string[] }>`
    select array(
      (select it.id::text from ${sql.table(table)} it where it.id between r.low and r.high order by it.id limit 3)
      union
      (select it.id::text from ${sql.table(table)} it where ${backwards} between r.last and r.first
       order by ${backwards} limit 3)
    ) as ids
    from unnest(${uuids(({ begins }) => begins.low)}, ${uuids(({ begins }) => begins.high)},
      ${uuids(({ ends }) => ends.low)}, ${uuids(({ ends }) => ends.high)})
      with ordinality as r (low, high, last, first, place)
    order by r.place`
  const { rows } = await byIndex(db, (tx) => ask.execute(tx))
  return rows.map(({ ids }) => ids)
}
