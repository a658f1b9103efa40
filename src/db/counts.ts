import { type RawBuilder, sql } from 'kysely'
import type { Database } from './database.ts'
import { transact, withRetry } from './retry.ts'

// Counts are kept: triggers append each change to row_change in the transaction that makes it, so that counts are exact
// and no transaction waits for another. Collected changes are added to the totals; readers sum both.

/** The number of rows of a model in each status that has any, and their bytes. */
export async function rowCounts(
  db: Database,
  model: 'crawl' | 'snapshot' | 'archive_result',
): Promise<Map<string, { readonly rows: number; readonly bytes: number }>> {
  // Results are started page by page, and few pages are in work, so these are counted directly.
  const open = sql`
    union all select status, count(*), 0 from archive_result
    where ${model} = 'archive_result' and status in ('queued', 'started', 'backoff') group by status`
  const { rows } = await sql<{ status: string; rows: number; bytes: number }>`
    select status, sum(rows) as rows, sum(bytes) as bytes
    from (
      select status, rows, bytes from row_count where model = ${model}
      ${model === 'archive_result' ? open : sql``}) counted
    group by status having sum(rows) > 0`.execute(db)
  return new Map(rows.map(({ status, rows, bytes }) => [status, { rows, bytes }]))
}

/** What has ended in all, whatever was deleted since: pages of an outcome, or hooks of a plugin. */
export interface Ended {
  readonly model: 'snapshot' | 'archive_result'
  /** The outcome, or the plugin. */
  readonly kind: string
  readonly ended: number
  /** How long these took, in seconds; 0 for pages. */
  readonly seconds: number
}

/** Sums that only grow, including what is not added up yet. */
export async function endedTotals(db: Database): Promise<Ended[]> {
  const { rows } = await sql<Ended>`
    select model, kind, sum(ended) as ended, sum(ms)::float8 / 1000 as seconds
    from (select model, kind, ended, ms from ended_total union all ${endedIn(sql`row_change`, sql`xmin`)}) each_part
    where kind <> '' group by model, kind order by model, kind`.execute(db)
  return rows
}

/**
 * What ended by these changes. Those of one transaction count together: one that gives an ended row another size or
 * status has ended nothing, and one that deletes rows takes nothing back.
 */
function endedIn(changes: RawBuilder<unknown>, transaction: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select model, outcome as kind, sum(ended)::bigint as ended, sum(ms)::bigint as ms
    from (
      select model, outcome, sum(rows) as ended, greatest(0, sum(hook_ms)) as ms from ${changes}
      where model = 'archive_result' or model = 'snapshot' and status = 'sealed'
      group by ${transaction}::text, model, outcome having sum(rows) > 0
    ) each_transaction
    group by model, outcome`
}

/** The pages of a crawl by status, sealed ones by outcome. */
export interface PageCounts {
  readonly queued: number
  readonly started: number
  readonly paused: number
  readonly archived: number
  readonly partial: number
  readonly failed: number
}

export const NO_PAGES: PageCounts = { queued: 0, started: 0, paused: 0, archived: 0, partial: 0, failed: 0 }

/** A row of `pagesOf` and `allPages`. */
export interface CountedPages {
  readonly pages: number
  readonly sealed: number
  readonly counts: PageCounts
}

/** The pages of a crawl, as the columns of CountedPages: for a lateral query. */
export function pagesOf(crawlId: RawBuilder<unknown>): RawBuilder<CountedPages> {
  return sql`select ${counted()} from crawl_pages p where p.crawl_id = ${crawlId}`
}

/** The pages of all crawls. */
export async function allPages(db: Database): Promise<CountedPages> {
  const pages = sql`select status, outcome, rows as pages from row_count where model = 'snapshot'`
  const { rows } = await sql<CountedPages>`select ${counted()} from (${pages}) p`.execute(db)
  return rows[0]!
}

function counted(): RawBuilder<unknown> {
  const status = ['queued', 'started', 'paused'].map((name) => countOf(name, sql`p.status = ${sql.lit(name)}`))
  const outcome = ['archived', 'partial', 'failed'].map((name) => countOf(name, sql`p.outcome = ${sql.lit(name)}`))
  return sql`
    coalesce(sum(p.pages), 0)::bigint as pages, ${sumOf(sql`p.status = 'sealed'`)} as sealed,
    jsonb_build_object(${sql.join([...status, ...outcome])}) as counts`
}

/** How many pages a crawl has; exact for a caller that has locked its row (`lockCrawl`). */
export async function pageCount(tx: Database, crawlId: string): Promise<number> {
  const { rows } = await sql<{ pages: number }>`
    select coalesce(sum(pages), 0) as pages from crawl_pages where crawl_id = ${crawlId}`.execute(tx)
  return rows[0]!.pages
}

/** How many pages of a crawl are sealed. */
export async function sealedPageCount(db: Database, crawlId: string): Promise<number> {
  const sum = sql<{ pages: number }>`
    select coalesce(sum(pages), 0) as pages from crawl_pages where crawl_id = ${crawlId} and status = 'sealed'`
  return (await withRetry(db, () => sum.execute(db))).rows[0]!.pages
}

/** Whether the finished pages of a crawl take as much as it may. */
export async function isCrawlFull(
  db: Database,
  { id, max_size }: { readonly id: string; readonly max_size: number },
): Promise<boolean> {
  if (max_size === 0) return false
  const sum = sql<{ bytes: number }>`select coalesce(sum(bytes), 0) as bytes from crawl_pages where crawl_id = ${id}`
  return (await sum.execute(db)).rows[0]!.bytes >= max_size
}

const sumOf = (which: RawBuilder<unknown>) => sql`coalesce(sum(p.pages) filter (where ${which}), 0)::bigint`
const countOf = (name: string, which: RawBuilder<unknown>) => sql`${sql.lit(name)}, ${sumOf(which)}`

/** How many pages each tag has, as `id` and `pages`; none for a tag without any. A query to join. */
export const PAGES_OF_TAGS = sql`
  select status::uuid as id, sum(rows) as pages from row_count where model = 'snapshot_tag' group by status`

/** An arbitrary, fixed key: one at a time per database. */
const LOCK = 7_241_203

/** Changes per statement: far below its deadline. */
const BATCH = 20_000

/** Adds up the collected changes, unless another process is doing so. */
export async function addUpCounts(db: Database): Promise<void> {
  while ((await transact(db, addUpSome)) === BATCH);
}

/** @returns how many changes were added up */
async function addUpSome(tx: Database): Promise<number> {
  const lock = await sql<{ mine: boolean }>`select pg_try_advisory_xact_lock(${LOCK}) as mine`.execute(tx)
  if (!lock.rows[0]!.mine) return 0
  const { rows } = await sql<{ taken: number; emptied: string[]; unused: string[] }>`
    with taken as (
      delete from row_change where ctid = any(array(select ctid from row_change limit ${sql.lit(BATCH)}))
      returning model, crawl_id, status, outcome, rows, bytes, host, hook_ms, xmin as changed_by
    ), totals as (
      insert into row_total as t (model, status, outcome, rows, bytes)
      select model, status, outcome, sum(rows), sum(bytes) from taken group by model, status, outcome
      on conflict (model, status, outcome)
        do update set rows = t.rows + excluded.rows, bytes = t.bytes + excluded.bytes
      returning model, status, rows
    ), ended as (
      insert into ended_total as t (model, kind, ended, ms) ${endedIn(sql`taken`, sql`changed_by`)}
      on conflict (model, kind) do update set ended = t.ended + excluded.ended, ms = t.ms + excluded.ms
    ), of_crawls as (
      insert into crawl_total as t (crawl_id, status, outcome, pages, bytes)
      select crawl_id, status, outcome, sum(rows), sum(bytes) from taken where crawl_id is not null
      group by crawl_id, status, outcome
      on conflict (crawl_id, status, outcome)
        do update set pages = t.pages + excluded.pages, bytes = t.bytes + excluded.bytes
      returning crawl_id, pages
    ), of_hosts as (
      insert into host_total as t (crawl_id, host, bytes)
      select crawl_id, host, sum(bytes) from taken where host is not null
        and exists (select from crawl_by_host c where c.crawl_id = taken.crawl_id for key share)
      group by crawl_id, host
      on conflict (crawl_id, host) do update set bytes = t.bytes + excluded.bytes
    )
    select (select count(*) from taken) as taken,
      array(select distinct crawl_id from of_crawls where pages = 0) as emptied,
      array(select status from totals where model = 'snapshot_tag' and rows = 0) as unused`.execute(tx)
  const { taken, emptied, unused } = rows[0]!
  if (emptied.length > 0)
    await sql`delete from crawl_total where crawl_id = any(${emptied}::uuid[]) and pages = 0`.execute(tx)
  if (unused.length > 0)
    await sql`
      delete from row_total where model = 'snapshot_tag' and status = any(${unused}::text[]) and rows = 0`.execute(tx)
  return taken
}
