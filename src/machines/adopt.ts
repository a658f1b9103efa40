import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { uuidv7 } from '../base/ids.ts'
import type { UrlList } from '../base/url-list.ts'
import { insertParts } from '../db/crawl-sources.ts'
import { outputDir } from '../db/crawls.ts'
import type { Database } from '../db/database.ts'
import { transact } from '../db/retry.ts'
import { tagSnapshots } from '../db/snapshots.ts'
import type { OutputFile, ResultStatus } from '../db/tables.ts'
import type { Verdict } from './verdict.ts'

// Pages that somebody else archived: their rows begin at their end. Ids are made from the originals', so that whoever
// begins again finds what is here already.

/** An id that is always the same for the same original, in the order of time like all ids. */
export function adoptedId(key: string, at: Date): string {
  const time = at.getTime().toString(16).padStart(12, '0')
  const hash = createHash('sha256').update(`archivebox ${key}`).digest('hex')
  const hex = `${time}7${hash.slice(0, 3)}8${hash.slice(3, 18)}`
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** Adds a sealed crawl, unless it is here. @returns its id */
export async function adoptCrawl(
  db: Database,
  crawl: { readonly key: string; readonly at: Date; readonly label: string; readonly list: UrlList },
): Promise<string> {
  const { key, at, label, list } = crawl
  const id = adoptedId(key, at)
  await transact(db, async (tx) => {
    await sql`
      insert into crawl (id, urls, urls_total, label, config, output_dir, status, retry_at, next_part, created_at)
      values (${id}, ${list.first.urls}, ${list.total}, ${label}, '{"adopted": true}',
        ${outputDir('crawls', list.first.urls.split('\n', 1)[0]!, id, at)}, 'sealed', null, null, ${at})
      on conflict do nothing`.execute(tx)
    await insertParts(tx, id, list)
  })
  return id
}

export interface AdoptedPage extends Verdict {
  readonly id: string
  readonly crawlId: string
  readonly url: string
  readonly title: string | null
  readonly depth: number
  readonly tags: readonly string[]
  readonly notes: string | null
  readonly bookmarkedAt: Date
  readonly sealedAt: Date
  readonly outputDir: string
  readonly results: readonly AdoptedResult[]
}

export interface AdoptedResult {
  readonly plugin: string
  readonly hook_name: string
  readonly attempt: number
  readonly status: Extract<ResultStatus, 'succeeded' | 'failed' | 'skipped' | 'noresults'>
  readonly output_str: string
  readonly files: Readonly<Record<string, OutputFile>>
  readonly start: Date
  readonly end: Date
}

/** Where a page is that was adopted: its folder below the data dir, and its crawl. */
export interface PlaceOfPage {
  readonly output_dir: string
  readonly crawl_id: string
}

/** Those of these pages that are here, by their ids. */
export async function adoptedAmong(db: Database, ids: readonly string[]): Promise<Map<string, PlaceOfPage>> {
  const { rows } = await sql<PlaceOfPage & { id: string }>`
    select id, output_dir, crawl_id from snapshot where id = any(${ids}::uuid[])`.execute(db)
  return new Map(rows.map((row) => [row.id, row]))
}

/** Adds a sealed page with its results, unless it is here. @returns false when its crawl has another with its URL */
export async function adoptPage(db: Database, page: AdoptedPage): Promise<boolean> {
  const size = page.results.reduce((sum, { files }) => sum + bytesOf(files), 0)
  return await transact(db, async (tx) => {
    const { rows } = await sql<{ id: string }>`
      insert into snapshot (id, crawl_id, url, url_hash, title, depth, output_dir, output_size, status, retry_at,
        outcome, cause, http_status, notes, bookmarked_at, created_at, status_changed_at)
      values (${page.id}, ${page.crawlId}, ${page.url}, sha256(convert_to(${page.url}, 'UTF8')), ${page.title},
        ${page.depth}, ${page.outputDir}, ${size}, 'sealed', null, ${page.outcome}, ${page.cause}, ${page.http_status},
        ${page.notes}, ${page.bookmarkedAt}, ${page.bookmarkedAt}, ${page.sealedAt})
      on conflict do nothing returning id`.execute(tx)
    // Our own, when an answer was lost.
    if (rows.length === 0) return (await adoptedAmong(tx, [page.id])).get(page.id)?.crawl_id === page.crawlId
    if (page.tags.length > 0) await tagSnapshots(tx, [page.id], page.tags)
    for (const result of page.results)
      await sql`
        insert into archive_result (id, snapshot_id, plugin, hook_name, attempt, status, output_str, output_files,
          output_size, start_ts, end_ts, created_at)
        values (${uuidv7()}, ${page.id}, ${result.plugin}, ${result.hook_name}, ${result.attempt}, ${result.status},
          ${result.output_str}, ${JSON.stringify(result.files)}, ${bytesOf(result.files)}, ${result.start},
          ${result.end}, ${result.start})`.execute(tx)
    return true
  })
}

const bytesOf = (files: AdoptedResult['files']) => Object.values(files).reduce((sum, { size }) => sum + size, 0)
