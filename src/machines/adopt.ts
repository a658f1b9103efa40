import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { uuidv7 } from '../base/ids.ts'
import type { UrlList } from '../base/url-list.ts'
import { insertParts } from '../db/crawl-sources.ts'
import { outputDir } from '../db/crawls.ts'
import type { Database } from '../db/database.ts'
import type { Home } from '../db/home.ts'
import type { ResultOfPage } from '../db/results.ts'
import { transact } from '../db/retry.ts'
import { type SnapshotRow, tagSnapshots } from '../db/snapshots.ts'
import type { OutputFile } from '../db/tables.ts'
import { archiveResultMachine } from './archive-result.ts'
import { crawlMachine } from './crawl.ts'
import { bornRows } from './moved.ts'
import type { FinalStatus } from './results.ts'
import { snapshotMachine } from './snapshot.ts'
import type { Verdict } from './verdict.ts'

// Pages that another program archived: their rows start in their final state, at home on the node that takes their
// files. Ids are derived from the originals', so that a repeated import finds what is here already.

/** An id that is always the same for the same original, ordered by time like all ids. */
export function adoptedId(key: string, at: Date): string {
  const time = at.getTime().toString(16).padStart(12, '0')
  const hash = createHash('sha256').update(`archivebox ${key}`).digest('hex')
  const hex = `${time}7${hash.slice(0, 3)}8${hash.slice(3, 18)}`
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** Adds a sealed crawl, unless it is here. @returns its id */
export async function adoptCrawl(
  { db, dataDirId }: Pick<Home, 'db' | 'dataDirId'>,
  crawl: { readonly key: string; readonly at: Date; readonly label: string; readonly list: UrlList },
): Promise<string> {
  const { key, at, label, list } = crawl
  const id = adoptedId(key, at)
  await transact(db, async (tx) => {
    const columns = {
      id: sql`${id}::uuid`,
      urls: sql`${list.first.urls}::text`,
      urls_total: sql`${list.total}::int`,
      label: sql`${label}::text`,
      config: `'{"adopted": true}'`,
      output_dir: sql`${outputDir('crawls', list.first.urls.split('\n', 1)[0]!, id, at)}::text`,
      home_node: sql`${dataDirId}::uuid`,
      next_part: 'null',
      created_at: sql`${at}::timestamptz`,
    }
    await sql`with ${bornRows(crawlMachine, { as: 'adopted', columns, state: 'sealed', source: '', ...UNLESS_HERE })}
      select from adopted`.execute(tx)
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

export interface AdoptedResult extends Pick<ResultOfPage, 'plugin' | 'hook_name' | 'attempt' | 'output_str'> {
  readonly status: FinalStatus
  readonly files: Readonly<Record<string, OutputFile>>
  readonly start: Date
  readonly end: Date
}

/** Where an adopted page is: its folder below the data dir, and its crawl. */
export type PlaceOfPage = Pick<SnapshotRow, 'output_dir' | 'crawl_id'>

/** Those of these pages that are here already, by their ids. */
export async function adoptedAmong(db: Database, ids: readonly string[]): Promise<Map<string, PlaceOfPage>> {
  const { rows } = await sql<PlaceOfPage & { id: string }>`
    select id, output_dir, crawl_id from snapshot where id = any(${ids}::uuid[])`.execute(db)
  return new Map(rows.map((row) => [row.id, row]))
}

/** Adds a sealed page with its results, unless it is here. @returns false when its crawl has another with its URL */
export async function adoptPage(
  { db, dataDirId }: Pick<Home, 'db' | 'dataDirId'>,
  page: AdoptedPage,
): Promise<boolean> {
  const size = page.results.reduce((sum, { files }) => sum + bytesOf(files), 0)
  return await transact(db, async (tx) => {
    const columns = {
      id: sql`${page.id}::uuid`,
      crawl_id: sql`${page.crawlId}::uuid`,
      url: sql`${page.url}::text`,
      url_hash: sql`sha256(convert_to(${page.url}, 'UTF8'))`,
      title: sql`${page.title}::text`,
      depth: sql`${page.depth}::int`,
      output_dir: sql`${page.outputDir}::text`,
      home_node: sql`${dataDirId}::uuid`,
      output_size: sql`${size}::bigint`,
      outcome: sql`${page.outcome}::text`,
      cause: sql`${page.cause}::text`,
      http_status: sql`${page.http_status}::int`,
      notes: sql`${page.notes}::text`,
      bookmarked_at: sql`${page.bookmarkedAt}::timestamptz`,
      created_at: sql`${page.bookmarkedAt}::timestamptz`,
      status_changed_at: sql`${page.sealedAt}::timestamptz`,
    }
    const { rows } = await sql<{ id: string }>`
      with ${bornRows(snapshotMachine, { as: 'adopted', columns, state: 'sealed', source: '', ...UNLESS_HERE })}
      select id from adopted`.execute(tx)
    // Our own, when an answer was lost.
    if (rows.length === 0) return (await adoptedAmong(tx, [page.id])).get(page.id)?.crawl_id === page.crawlId
    if (page.tags.length > 0) await tagSnapshots(tx, [page.id], page.tags)
    for (const result of page.results) await adoptResult(tx, dataDirId, page.id, result)
    return true
  })
}

async function adoptResult(tx: Database, node: string, pageId: string, result: AdoptedResult): Promise<void> {
  const columns = {
    id: sql`${uuidv7()}::uuid`,
    snapshot_id: sql`${pageId}::uuid`,
    plugin: sql`${result.plugin}::text`,
    hook_name: sql`${result.hook_name}::text`,
    attempt: sql`${result.attempt}::int`,
    output_str: sql`${result.output_str}::text`,
    output_files: sql`${JSON.stringify(result.files)}::jsonb`,
    output_size: sql`${bytesOf(result.files)}::bigint`,
    node_id: sql`${Object.keys(result.files).length > 0 ? node : null}::uuid`,
    start_ts: sql`${result.start}::timestamptz`,
    end_ts: sql`${result.end}::timestamptz`,
    created_at: sql`${result.start}::timestamptz`,
  }
  const birth = { as: 'adopted', columns, state: result.status, source: '' } as const
  await sql`with ${bornRows(archiveResultMachine, birth)} select from adopted`.execute(tx)
}

/** For rows that are here from an earlier import. */
const UNLESS_HERE = { onConflict: 'on conflict do nothing' }

const bytesOf = (files: AdoptedResult['files']) => Object.values(files).reduce((sum, { size }) => sum + size, 0)
