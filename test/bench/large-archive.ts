import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../../src/db/database.ts'

/** What a large archive has, beside as many pages as are asked for, each with five results. */
export interface LargeArchive {
  /** The first crawl: a fifth of all pages. */
  readonly old: string
  /** The last one, at work: a tenth of as many pages as all others have, all queued. */
  readonly open: string
}

/** Pages that one statement makes. */
const BATCH = 50_000
/** Pages of a crawl of medium size. */
const CRAWL = 500

/** Why pages are not archived: few causes. */
const CAUSES = ['HTTP 404', 'connection refused', 'timed out after 60 s']
const PLUGINS = ['title', 'html', 'headers', 'readability', 'favicon']

/** Ids as the program makes them, in the order of time: the first is a month old, one comes each millisecond. */
const id = (kind: number, n: RawBuilder<unknown>) => sql`
  (lpad(to_hex((select (extract(epoch from day) * 1000)::bigint - 2592000000 from today) + ${n}), 12, '0')
   || '7000800' || ${sql.lit(kind)}::text || lpad(to_hex(${n}), 12, '0'))::uuid`

const ofSealed = (value: RawBuilder<unknown>) => sql`case when status = 'sealed' then ${value} end`

/** Makes an archive of so many sealed pages by SQL, a hundred thousand in some seconds. */
export async function makeLargeArchive(db: Database, pages: number): Promise<LargeArchive> {
  await sql`create table today as select date_trunc('day', now()) as day`.execute(db)
  const big = pages / 5
  // Page n of the medium crawls is in crawl 1 + (n - big) / CRAWL.
  const crawlOf = sql`(case when n <= ${big}::int then 0 else 1 + (n - 1 - ${big}::int) / ${CRAWL}::int end)`
  const crawls = 1 + (pages - big) / CRAWL
  const made = await sql<{ id: string }>`
    insert into crawl (id, urls, output_dir, status, retry_at)
    select ${id(1, sql`n`)}, 'https://site-' || n || '.example/', 'archive/crawls/' || n,
           case when n < ${crawls}::int then 'sealed' else 'started' end, case
             when n = ${crawls}::int then now() + interval '1 min' end
    from generate_series(0, ${crawls}::int) n order by n returning id`.execute(db)
  const addPages = async (from: number, to: number, crawl: RawBuilder<unknown>, status: string) => {
    await sql`
      insert into snapshot (id, crawl_id, url, url_hash, title, output_dir, output_size, status, retry_at,
        outcome, cause, http_status, status_changed_at)
      select ${id(2, sql`n`)}, ${id(1, crawl)}, url, sha256(convert_to(url, 'UTF8')), 'page ' || n,
        'archive/snapshots/' || n, 12345, status, case when status = 'queued' then now() - interval '1 min' end,
        ${ofSealed(sql`case when n % 20 = 0 then 'failed' when n % 20 = 1 then 'partial' else 'archived' end`)},
        ${ofSealed(sql`case when n % 20 < 2 then (${CAUSES}::text[])[1 + n % 3] end`)},
        ${ofSealed(sql`case when n % 20 = 0 then 404 else 200 end`)},
        now() - (${pages}::int - least(n, ${pages}::int)) * interval '1 s'
      from (select n, 'https://site-' || n % 1000 || '.example/' || substr(md5(n::text), 1, 12) || '/page-' || n as url,
              ${status}::text as status
            from generate_series(${from}::int, ${to}::int) n) page`.execute(db)
  }
  for (let from = 1; from <= pages; from += BATCH) {
    const to = Math.min(from + BATCH - 1, pages)
    await addPages(from, to, crawlOf, 'sealed')
    await sql`
      insert into archive_result (id, snapshot_id, plugin, hook_name, status, end_ts, output_str)
      select ${id(3, sql`(n::bigint * 5 + p)`)}, ${id(2, sql`n`)}, case when p = 5 and n <= 50 then 'rare'
        else (${PLUGINS}::text[])[p] end, 'on_Snapshot__20.js',
             case when n % 20 = p then 'failed' when n % 20 = p + 5 then 'noresults'
               when (n + p) % 10 = 0 then 'skipped' else 'succeeded' end,
             now() - (${pages}::int - n) * interval '1 s', 'output'
      from generate_series(${from}::int, ${to}::int) n, generate_series(1, 5) p`.execute(db)
  }
  await addPages(pages + 1, pages + pages / 10, sql`${crawls}::int`, 'queued')
  await sql`insert into tag (name) values ('few'), ('many')`.execute(db)
  await sql`
    insert into snapshot_tag
    select ${id(2, sql`n`)}, tag.id from generate_series(1, ${big}::int) n, tag where tag.name = 'many'
      or n <= 50`.execute(db)
  await sql`drop table today`.execute(db)
  return { old: made.rows[0]!.id, open: made.rows.at(-1)!.id }
}
