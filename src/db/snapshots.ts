import { type Selectable, sql } from 'kysely'
import { uuidv7 } from '../base/ids.ts'
import { lockCrawl, outputDir } from './crawls.ts'
import type { Database } from './database.ts'
import { repeatable } from './patience.ts'
import type { SnapshotTable } from './tables.ts'

export type SnapshotRow = Selectable<SnapshotTable>

/**
 * Adds pages to a crawl, at most up to its limit; one that the crawl already has is left as it is. Runs inside the caller's transaction and
 * takes the crawl's row first, so that two workers who add at once count each other's. A sealed crawl takes none.
 * @returns how many were added
 */
export async function insertSnapshots(
  tx: Database,
  crawlId: string,
  pages: readonly { readonly url: string; readonly title?: string }[],
  options: { readonly depth: number; readonly parentId: string | null },
): Promise<number> {
  if (pages.length === 0) return 0
  const crawl = await lockCrawl(tx, crawlId)
  if (!crawl) return 0
  let added = 0
  for (let at = 0; at < pages.length; at += BATCH) added += await insertBatch(tx, crawlId, crawl, pages.slice(at, at + BATCH), options)
  return added
}

/** So many are added by one statement: a second on a slow machine, far below the deadline of statements. */
const BATCH = 5_000

async function insertBatch(
  tx: Database,
  crawlId: string,
  crawl: { readonly max_urls: number; readonly tags: readonly string[] },
  pages: readonly { readonly url: string; readonly title?: string }[],
  options: { readonly depth: number; readonly parentId: string | null },
): Promise<number> {
  const ids = pages.map(() => uuidv7())
  const dirs = pages.map(({ url }, index) => outputDir('snapshots', url, ids[index]!))
  const inserted = await sql<{ id: string }>`
    with fresh as (
      select page.* from unnest(${ids}::uuid[], ${pages.map(({ url }) => url)}::text[], ${pages.map(({ title }) => title ?? null)}::text[], ${dirs}::text[])
        with ordinality as page (id, url, title, dir, place)
      where not exists (select 1 from snapshot s where s.crawl_id = ${crawlId} and s.url_hash = sha256(convert_to(page.url, 'UTF8')))
      order by place
      limit case when ${crawl.max_urls}::int = 0 then null
                 else greatest(${crawl.max_urls}::int - (select count(*) from snapshot where crawl_id = ${crawlId}), 0) end
    )
    insert into snapshot (id, crawl_id, parent_snapshot_id, url, url_hash, title, depth, output_dir)
    select id, ${crawlId}, ${options.parentId}, url, sha256(convert_to(url, 'UTF8')), title, ${options.depth}, dir from fresh
    on conflict (crawl_id, url_hash) do nothing
    returning id`.execute(tx)
  if (inserted.rows.length > 0 && crawl.tags.length > 0) {
    await tagSnapshots(
      tx,
      inserted.rows.map(({ id }) => id),
      crawl.tags,
    )
  }
  return inserted.rows.length
}

/** Gives each snapshot each tag. */
export async function tagSnapshots(tx: Database, snapshotIds: readonly string[], tags: readonly string[]): Promise<void> {
  await sql`insert into tag (name) select unnest(${[...new Set(tags)]}::text[]) on conflict (name) do nothing`.execute(tx)
  await sql`
    insert into snapshot_tag (snapshot_id, tag_id)
    select s.id, t.id from unnest(${snapshotIds}::uuid[]) as s (id) cross join tag t where t.name = any(${tags}::text[])
    on conflict do nothing`.execute(tx)
}

export async function snapshotById(db: Database, id: string): Promise<SnapshotRow | undefined> {
  return await db.selectFrom('snapshot').selectAll().where('id', '=', id).executeTakeFirst()
}

/** The snapshots of a crawl that are not sealed. */
export interface OpenSnapshots {
  readonly open: number
  readonly due: number
  readonly claimed: number
  /** Seconds until the first of those that nobody has is due. */
  readonly rest_s: number
  /** Of the crawl's claim. */
  readonly token: string | null
}

/** How many snapshots of a crawl are not sealed, how many of those are due now, or in work, and who has the crawl's claim. */
export async function openSnapshots(db: Database, crawlId: string): Promise<OpenSnapshots> {
  const select = sql<OpenSnapshots>`
    select (select claim_token from crawl where id = ${crawlId}) as token, count(*) as open,
           count(*) filter (where status <> 'paused' and retry_at <= now()) as due,
           count(claim_token) as claimed, coalesce(extract(epoch from min(retry_at) filter (where claim_token is null) - now()), 0) as rest_s
    from snapshot where crawl_id = ${crawlId} and status in ('queued', 'started', 'paused')`
  const { rows } = await repeatable(db, () => select.execute(db))
  return rows[0]!
}
