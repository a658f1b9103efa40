import { type RawBuilder, type Selectable, sql } from 'kysely'
import { type PageCounts, pagesOf } from '../counts.ts'
import type { CrawlRow } from '../crawls.ts'
import type { Database } from '../database.ts'
import { crawlRecord, resultRecord, snapshotRecord } from '../records.ts'
import { type SnapshotRow, tagsOf } from '../snapshots.ts'
import { type ArchiveResultTable, type Outcome, RESULT_STATUSES, WORK_STATUSES } from '../tables.ts'
import { byIndex } from './by-index.ts'
import { type Lookup, lookup, of } from './lookups.ts'

/** The filters of a listing; a row matches a filter if it matches any of its values. */
export interface Filters {
  readonly status: readonly string[]
  /** Of sealed pages; for a crawl, of any of its pages; for a result, of its page. */
  readonly outcomes: readonly Outcome[]
  readonly urlContains: string
  /** A part of the title or URL, in any case: there is no index, so each row is checked. For a crawl, of its label. */
  readonly text: string
  /** The host of the page's URL, in lower case, with the port if it has one; for a crawl, that of a URL of its list. */
  readonly host: string
  readonly crawlId: string
  readonly snapshotId: string
  readonly plugins: readonly string[]
  /** Plugins that made something of the page. */
  readonly made: readonly string[]
  readonly tags: readonly string[]
  /** Added at this moment or later, and before that one: by its id, which contains the time. */
  readonly after: Date
  readonly before: Date
}

type One<F> = F extends readonly (infer Each)[] ? Each : F
type MeaningOf<F extends keyof Filters> = (value: One<Filters[F]>) => Lookup
/** How to find each value of each filter. Times are parts of the ids themselves. */
export type Meanings = { readonly [F in Exclude<keyof Filters, 'after' | 'before'>]: MeaningOf<F> }

/** The names of a model: for users, in records, in the database. */
export interface Model {
  readonly noun: 'crawl' | 'snapshot' | 'result'
  readonly type: 'Crawl' | 'Snapshot' | 'ArchiveResult'
  readonly table: 'crawl' | 'snapshot' | 'archive_result'
  readonly statuses: readonly string[]
}

/** A listing of a model: the source of its rows, named `it`, and what each filter means for it. */
export interface Listing<Row extends { readonly id: string }> extends Model {
  readonly rows: RawBuilder<Row>
  readonly means: Meanings
  /** A plugin and a status together, if an index has the rows of each pair in order. */
  readonly ofPluginAndStatus?: (plugin: string, status: string) => Lookup
  /** The filters about the page of a row, not the row: with these, rows go by page. */
  readonly ofPage?: readonly (keyof Meanings)[]
  /** The pages of rows with each value. */
  readonly pages?: Meanings
  readonly record: (row: Row) => object
}

export type ListedCrawl = CrawlRow & { readonly pages: number; readonly sealed: number; readonly counts: PageCounts }
export type ListedSnapshot = SnapshotRow & { readonly tags: readonly string[] } & Placed
export type ListedResult = Selectable<ArchiveResultTable> & { readonly url: string } & Placed

/** What is looked up of rows that are shown. */
interface Placed {
  /** The name of the other node that has its files; none: they are here. */
  readonly on_node?: string
}

/** Where a plugin succeeded, newest page first: for one page they are found by the index of its plugins. */
const succeeded = (plugin: string): Lookup => ({
  ...lookup({ ...results, id: 'snapshot_id', next: 'id' }, { plugin: sql`${plugin}`, status: sql`'succeeded'` }),
  is: (row) => sql`(${of(row, 'plugin')} = ${plugin} and ${of(row, 'status')} is not distinct from 'succeeded')`,
})

const contains = (column: RawBuilder<unknown>, text: string) => sql`strpos(lower(${column}), lower(${text})) > 0`
/** The text is searched first: it is in few lists. */
const listsHost = (urls: RawBuilder<unknown>, host: string) => sql`
  (${contains(urls, host)} and exists (
    select from string_to_table(lower(${urls}), e'\\n') line where url_host(line) = ${host}))`

const crawls = { table: 'crawl' } as const
/** Filters that need only the crawl's row. */
const ofCrawl = (is: Lookup['is']): Lookup => ({ ...crawls, id: 'id', is })

export const CRAWLS: Listing<ListedCrawl> = {
  noun: 'crawl',
  type: 'Crawl',
  table: 'crawl',
  statuses: WORK_STATUSES,
  rows: sql`
    select it.*, count.pages, count.sealed, count.counts
    from crawl it cross join lateral (${pagesOf(sql`it.id`)}) count`,
  means: {
    status: (status) => lookup(crawls, { status: sql`${status}` }),
    crawlId: (id) => lookup(crawls, { id: sql`${id}::uuid` }),
    outcomes: (outcome) =>
      ofCrawl(
        (row) => sql`(
          select sum(p.pages) from crawl_pages p where p.crawl_id = ${of(row, 'id')} and p.outcome = ${outcome}) > 0`,
      ),
    urlContains: (text) =>
      ofCrawl(
        (row) => sql`(${contains(of(row, 'urls'), text)} or exists (
          select from crawl_source part where part.crawl_id = ${of(row, 'id')} and ${contains(sql`part.urls`, text)}))`,
      ),
    text: (text) => ofCrawl((row) => sql`(${contains(of(row, 'label'), text)} or ${contains(of(row, 'urls'), text)})`),
    host: (host) =>
      ofCrawl(
        (row) => sql`(${listsHost(of(row, 'urls'), host)} or exists (
          select from crawl_source part
          where part.crawl_id = ${of(row, 'id')} and ${listsHost(sql`part.urls`, host)}))`,
      ),
    snapshotId: (id) => ofCrawl((row) => sql`${of(row, 'id')} = (select crawl_id from snapshot where id = ${id})`),
    // No page after the last one with results has any: queued ones need not be checked.
    plugins: (plugin) => ({
      ...ofCrawl(
        (row) => sql`(
          select true from snapshot s
          where s.crawl_id = ${of(row, 'id')} and s.id <= (
            select snapshot_id from archive_result where snapshot_id <= (
              select id from snapshot where crawl_id = ${of(row, 'id')} order by id desc limit 1)
            order by snapshot_id desc limit 1)
            and (select true from archive_result r where r.snapshot_id = s.id and r.plugin = ${plugin} limit 1)
          limit 1)`,
      ),
      ids: () => sql`
        select (select crawl_id from snapshot where id = at.snapshot_id) as id from archive_result at
        where at.plugin between ${plugin} and ${plugin} order by at.plugin desc, at.status desc`,
      by: 'value',
    }),
    made: (plugin) =>
      ofCrawl(
        (row) => sql`exists (
          select from snapshot s where s.crawl_id = ${of(row, 'id')} and exists (
            select from archive_result r where r.snapshot_id = s.id and ${succeeded(plugin).is('r')}))`,
      ),
    tags: (tag) => ofCrawl((row) => sql`${tag} = any(${of(row, 'tags')})`),
  },
  record: (row) => ({ ...crawlRecord(row), home_node: row.home_node }),
}

const pages = { table: 'snapshot' } as const
const results = { table: 'archive_result' } as const
export const SNAPSHOTS: Listing<ListedSnapshot> = {
  noun: 'snapshot',
  type: 'Snapshot',
  table: 'snapshot',
  statuses: WORK_STATUSES,
  rows: sql`select it.*, ${tagsOf(sql`it.id`)} as tags from snapshot it`,
  means: {
    status: (status) => lookup(pages, { status: sql`${status}` }),
    outcomes: (outcome) => lookup(pages, { outcome: sql`${outcome}` }),
    crawlId: (id) => lookup(pages, { crawl_id: sql`${id}::uuid` }),
    snapshotId: (id) => lookup(pages, { id: sql`${id}::uuid` }),
    tags: (tag) =>
      lookup({ table: 'snapshot_tag', id: 'snapshot_id' }, { tag_id: sql`(select id from tag where name = ${tag})` }),
    host: (host) =>
      lookup({ table: 'page_url', id: 'snapshot_id' }, { url: sql`${host}` }, (url) => sql`url_host(${url})`),
    // In any case; the trigram index on page_url serves only patterns.
    urlContains: (text) => {
      const is = (row: string) => sql`${of(row, 'url')} like '%' || lower(${text.replaceAll(/[\\%_]/g, '\\$&')}) || '%'`
      return {
        table: 'page_url',
        id: 'snapshot_id',
        is,
        ids: () => sql`select snapshot_id as id from page_url at where ${is('at')} order by snapshot_id desc`,
      }
    },
    text: (text) => ({
      ...pages,
      id: 'id',
      is: (row) =>
        sql`(${contains(of(row, 'url'), text)} or ${contains(sql`coalesce(${of(row, 'title')}, '')`, text)})`,
    }),
    plugins: (plugin) =>
      lookup({ ...results, id: 'snapshot_id', next: 'status', isOfPage: true }, { plugin: sql`${plugin}` }),
    made: succeeded,
  },
  record: (row) => ({ ...snapshotRecord(row), home_node: row.home_node }),
}

/** Statuses with an index by page (migration 0035). */
const isByPage = (status: string): boolean => ['failed', 'skipped', 'noresults'].includes(status)

export const RESULTS: Listing<ListedResult> = {
  noun: 'result',
  type: 'ArchiveResult',
  table: 'archive_result',
  statuses: RESULT_STATUSES,
  rows: sql`select it.*, (select url from snapshot page where page.id = it.snapshot_id) as url from archive_result it`,
  means: {
    ...SNAPSHOTS.means,
    status: (status) => lookup({ ...results, isOfPage: isByPage(status) }, { status: sql`${status}` }),
    plugins: (plugin) => lookup({ ...results, next: 'status', isOfPage: true }, { plugin: sql`${plugin}` }),
    snapshotId: (id) => lookup({ ...results, next: 'plugin' }, { snapshot_id: sql`${id}::uuid` }),
  },
  ofPluginAndStatus: (plugin, status) => lookup(results, { plugin: sql`${plugin}`, status: sql`${status}` }),
  ofPage: ['outcomes', 'crawlId', 'tags', 'host', 'urlContains', 'text', 'made'],
  pages: {
    ...SNAPSHOTS.means,
    status: (status) => lookup({ ...results, id: 'snapshot_id', next: 'id' }, { status: sql`${status}` }),
  },
  record: (row) => ({ ...resultRecord(row), node_id: row.node_id }),
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
