import { sql } from 'kysely'
import type { Meanings } from '../base/makes.ts'
import type { Database } from './database.ts'
import type { Home } from './home.ts'
import type { Model } from './lists/listings.ts'
import { withRetry } from './retry.ts'
import type { OutputFile } from './tables.ts'

/** A published file as its result records it. */
export interface RecordedFile {
  /** Bytes; 0 for a link. */
  readonly size: number
  /** The target of a symbolic link. */
  readonly link: string | null
  /** Nothing has written it since the hashes of its page were made: they are its own. */
  readonly hashed: boolean
}

/** A sealed page, and the files that it must have. */
export interface RecordedPage {
  readonly id: string
  readonly crawl_id: string
  readonly url: string
  readonly output_dir: string
  /** Another program archived it: nothing here can make its files again. */
  readonly is_adopted: boolean
  /** The node that has its files; null: none has. */
  readonly home_node: string | null
  /** The other nodes that have files of it; those are not among `files`. */
  readonly away: readonly string[]
  /** By their paths below `output_dir`. */
  readonly files: Readonly<Record<string, RecordedFile>>
  /** That of them with the latest hashes; undefined: none has any. */
  readonly hashes: string | undefined
}

type PageRow = Omit<RecordedPage, 'hashes'> & { readonly hashed_by: string | null }

const hashers = (meanings: Meanings) => meanings.with('hashes').map(([plugin]) => plugin)

/** Whether the files of this result may be here. */
const HERE = (node: string) => sql`(r.node_id is null or r.node_id = ${node})`

const page = (meanings: Meanings, { dataDirId }: Pick<Home, 'dataDirId'>) => sql`
  select s.id, s.crawl_id, s.url, s.output_dir, s.home_node, made.files, made.hashed_by,
    case when s.home_node <> ${dataDirId} then array[s.home_node::text] else made.away end as away,
    (select c.config ? 'adopted' from crawl c where c.id = s.crawl_id) as is_adopted
  from snapshot s cross join lateral (
    select max(hashes.plugin) as hashed_by, coalesce(jsonb_object_agg(r.plugin || '/' || file.key, jsonb_build_object(
        'size', file.value -> 'size', 'link', file.value -> 'link',
        -- By its start: what waited for the database has an end that is some milliseconds late.
        'hashed', coalesce(coalesce(r.start_ts, r.end_ts) <= hashes.end_ts, false)
      )) filter (where ${HERE(dataDirId)}), '{}') as files,
      coalesce(array_agg(distinct r.node_id::text) filter (where not ${HERE(dataDirId)}), '{}') as away
    from archive_result r cross join jsonb_each(r.output_files) file left join lateral (
      select h.plugin, h.end_ts from archive_result h
      where h.snapshot_id = s.id and h.plugin = any(${hashers(meanings)}::text[])
        and h.status = 'succeeded'
      order by h.end_ts desc nulls last limit 1
    ) hashes on true
    where r.snapshot_id = s.id and (s.home_node is null or s.home_node = ${dataDirId})
  ) made`

/** The next sealed pages after this one, by id; those of other nodes without their files. */
export async function recordedPages(
  home: Pick<Home, 'db' | 'dataDirId'>,
  meanings: Meanings,
  after: string,
  limit: number,
): Promise<RecordedPage[]> {
  const select = sql<PageRow>`
    ${page(meanings, home)} where in_index_order() and s.status = 'sealed' and s.id > ${after}::uuid
    order by s.id limit ${limit}`
  return (await withRetry(home.db, () => select.execute(home.db))).rows.map((row) => recorded(row, meanings))
}

/** One of them in its current state; undefined when it is in work again, or gone. */
export async function recordedPage(
  home: Pick<Home, 'db' | 'dataDirId'>,
  meanings: Meanings,
  id: string,
): Promise<RecordedPage | undefined> {
  const select = sql<PageRow>`${page(meanings, home)} where s.status = 'sealed' and s.id = ${id}`
  const [row] = (await withRetry(home.db, () => select.execute(home.db))).rows
  return row && recorded(row, meanings)
}

function recorded({ hashed_by, ...row }: PageRow, meanings: Meanings): RecordedPage {
  return { ...row, hashes: hashed_by === null ? undefined : `${hashed_by}/${meanings.of(hashed_by).hashes}` }
}

/** The published files of other plugins on a page that were written after this plugin last succeeded there. */
export async function writtenSince(db: Database, snapshotId: string, plugin: string): Promise<string[]> {
  const select = sql<{ path: string }>`
    select r.plugin || '/' || file.path as path
    from archive_result r, jsonb_object_keys(r.output_files) file (path), (
      select coalesce(max(end_ts), '-infinity') as end_ts from archive_result
      where snapshot_id = ${snapshotId} and plugin = ${plugin} and status = 'succeeded'
    ) own
    where r.snapshot_id = ${snapshotId} and r.plugin <> ${plugin} and coalesce(r.end_ts > own.end_ts, true)`
  return (await withRetry(db, () => select.execute(db))).rows.map(({ path }) => path)
}

/** Those of these ids that have no row. */
export async function withoutRow(db: Database, table: Model['table'], ids: readonly string[]): Promise<string[]> {
  const select = sql<{ id: string }>`
    select given.id from unnest(${ids}::uuid[]) given (id)
    where not exists (select from ${sql.table(table)} t where t.id = given.id)`
  return (await withRetry(db, () => select.execute(db))).rows.map(({ id }) => id)
}

/** A page whose folder was found here, though another node has its files. */
export interface LeftPage {
  readonly id: string
  readonly node: string
  /** Its files are there, on a node that is not lost: the older ones here serve nobody. */
  readonly is_archived: boolean
}

/** Those of these pages that are at home on another node; `locked` ones stay as they are in this transaction. */
export async function pagesAway(
  { db, dataDirId }: Pick<Home, 'db' | 'dataDirId'>,
  ids: readonly string[],
  how?: 'locked',
): Promise<LeftPage[]> {
  const select = sql<LeftPage>`
    select id, home_node as node, status = 'sealed' and coalesce(outcome in ('archived', 'partial'), false)
      and exists (select from node where node.id = home_node and state <> 'lost') as is_archived
    from snapshot where id = any(${ids}::uuid[]) and home_node <> ${dataDirId}
    ${how === 'locked' ? sql`for no key update` : sql``}`
  return (await withRetry(db, () => select.execute(db))).rows
}

/** A page, its folder, and its results' data about the files there, in the order in which they were made. */
export interface FilesOfPage {
  readonly url: string
  readonly output_dir: string
  readonly home_node: string | null
  readonly plugin: string | null
  readonly output_files: Readonly<Record<string, OutputFile>> | null
}

/** What may be shown of a page, with a row for each result with files; none: there is no such page. */
export async function filesOfPage(db: Database, snapshotId: string): Promise<FilesOfPage[]> {
  const select = sql<FilesOfPage>`
    select s.url, s.output_dir, s.home_node, r.plugin, r.output_files
    from snapshot s left join archive_result r on r.snapshot_id = s.id and r.output_files <> '{}'
    where s.id = ${snapshotId}::uuid order by r.hook_name, r.attempt`
  return (await withRetry(db, () => select.execute(db))).rows
}
