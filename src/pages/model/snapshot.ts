import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { attemptName, earlierLogPaths, HOSTED_LOG, logPaths } from '../../base/attempt-paths.ts'
import type { Meanings } from '../../base/makes.ts'
import { type LoggedEnd, readRowLog } from '../../base/row-log.ts'
import { hasCopies } from '../../db/archived-pages.ts'
import { type CrawlRow, placeOfCrawl } from '../../db/crawls.ts'
import type { Home } from '../../db/home.ts'
import { meaningsIn } from '../../db/meanings.ts'
import { isAway } from '../../db/nodes.ts'
import { type ResultOfPage, resultsOfPage } from '../../db/results.ts'
import { type SnapshotRow, snapshotById, tagsOfPage } from '../../db/snapshots.ts'
import type { Outcome, OutputFile, ResultStatus } from '../../db/tables.ts'
import { type Output, outputsOf } from './outputs.ts'

/** A row with files, which has a page of its own. */
export interface Kept {
  readonly id: string
  /** Its folder, relative to the top of the archive. */
  readonly folder: string
}

/** What the page of a snapshot shows. */
export interface SnapshotPage extends Kept {
  readonly crawl: Kept & {
    /** Another node has its folder. */
    readonly isAway: boolean
  }
  readonly url: string
  /** SHA-256 of the URL, hexadecimal. */
  readonly urlHash: string
  readonly title: string | null
  readonly outcome: Outcome | null
  readonly cause: string | null
  readonly httpStatus: number | null
  /** When it was sealed; if it was only listed, when that happened. */
  readonly sealedAt: Date
  readonly depth: number
  readonly tags: readonly string[]
  /** The note of whoever bookmarked it, and when that was. */
  readonly notes: string | null
  readonly bookmarkedAt: Date | null
  /** Whether there are other copies of its URL. */
  readonly isCopied: boolean
  /** What its files take on the other node that has them; undefined: they are here. */
  readonly bytesAway: number | undefined
  /** Its outputs, the best first. */
  readonly outputs: readonly Output[]
  /** The file with the hashes of these, in the folder of the page; undefined: none were made. */
  readonly hashes: string | undefined
  /** In the order of their hooks; attempts of one hook one after the other. */
  readonly results: readonly SnapshotPageResult[]
}

export interface SnapshotPageResult {
  readonly plugin: string
  readonly hookName: string
  readonly attempt: number
  readonly status: ResultStatus
  readonly output: string
  readonly files: Readonly<Record<string, OutputFile>>
  readonly startedAt: Date | null
  readonly endedAt: Date | null
  /** Its output files, by kind, relative to the folder of the page. */
  readonly logs: Readonly<Record<string, string>>
}

/** The rows of a snapshot in the database. */
export interface SnapshotRows {
  readonly snapshot: SnapshotRow
  /** The folder of its crawl, and the node that has it. */
  readonly crawl: Pick<CrawlRow, 'output_dir' | 'home_node'>
  /** In the order of their hooks. */
  readonly results: readonly ResultOfPage[]
  /** Whether there are other copies of its URL. */
  readonly isCopied: boolean
  readonly tags: readonly string[]
  /** What plugins make. */
  readonly meanings: Meanings
}

/** Reads from the database what is not known of a snapshot. Undefined: it was deleted. */
export async function snapshotRows(
  { db }: Pick<Home, 'db'>,
  id: string,
  known: Partial<SnapshotRows> = {},
): Promise<SnapshotRows | undefined> {
  const snapshot = known.snapshot ?? (await snapshotById(db, id))
  const crawl = known.crawl ?? (snapshot && (await placeOfCrawl(db, snapshot.crawl_id)))
  if (snapshot === undefined || crawl === undefined) return undefined
  return {
    snapshot,
    crawl,
    results: known.results ?? (await resultsOfPage(db, id)),
    isCopied: known.isCopied ?? (await hasCopies(db, snapshot)),
    tags: known.tags ?? (await tagsOfPage(db, id)),
    meanings: known.meanings ?? (await meaningsIn(db)),
  }
}

/**
 * The content of a snapshot's page, from its rows and its logs, without files that are on another node. Throws when a
 * row of an older program is invalid.
 */
export function snapshotPageOf(home: Pick<Home, 'dataDir' | 'dataDirId'>, rows: SnapshotRows): SnapshotPage {
  const { snapshot, crawl } = rows
  const dir = join(home.dataDir, snapshot.output_dir)
  const isHere = !isAway(snapshot.home_node, home)
  const results = isHere ? rows.results : rows.results.map((row) => ({ ...row, output_files: {} }))
  const logs = isHere ? logsIn(dir) : new Set<string>()
  const hosted = isHere ? readRowLog(join(dir, HOSTED_LOG)) : new Map<string, LoggedEnd>()
  return {
    id: snapshot.id,
    folder: snapshot.output_dir,
    crawl: { id: snapshot.crawl_id, folder: crawl.output_dir, isAway: isAway(crawl.home_node, home) },
    url: snapshot.url,
    urlHash: snapshot.url_hash.toString('hex'),
    title: snapshot.title,
    outcome: snapshot.outcome,
    cause: snapshot.cause,
    httpStatus: snapshot.http_status,
    sealedAt: snapshot.status_changed_at,
    depth: snapshot.depth,
    tags: rows.tags,
    notes: snapshot.notes,
    bookmarkedAt: snapshot.bookmarked_at,
    isCopied: rows.isCopied,
    bytesAway: isHere ? undefined : snapshot.output_size,
    outputs: outputsOf(
      results.map((row) => ({ ...row, output: row.output_str, files: row.output_files })),
      rows.meanings,
    ),
    hashes: rows.meanings
      .with('hashes')
      .filter(([plugin, file]) => results.some((row) => row.plugin === plugin && Object.hasOwn(row.output_files, file)))
      .map(([plugin, file]) => `${plugin}/${file}`)[0],
    results: results.map((row) => ({
      plugin: row.plugin,
      hookName: row.hook_name,
      attempt: row.attempt,
      status: row.status,
      output: row.output_str,
      files: row.output_files,
      startedAt: row.start_ts,
      endedAt: row.end_ts,
      logs: logsOf(row, logs, hosted),
    })),
  }
}

/** The logs of a page. Only hooks that printed something have any. */
function logsIn(dir: string): ReadonlySet<string> {
  const folder = join(dir, '.logs')
  const entries = existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : []
  // Earlier versions had a folder per plugin.
  const paths = entries.flatMap((entry) =>
    entry.isDirectory() ? readdirSync(join(folder, entry.name)).map((name) => `${entry.name}/${name}`) : [entry.name],
  )
  return new Set(paths.map((path) => `.logs/${path}`))
}

/** Those of an attempt. */
function logsOf(
  { plugin, hook_name: hook, attempt }: Pick<ResultOfPage, 'plugin' | 'hook_name' | 'attempt'>,
  there: ReadonlySet<string>,
  hosted: ReadonlyMap<string, LoggedEnd>,
): Record<string, string> {
  const both = [earlierLogPaths(plugin, hook, attempt), logPaths(plugin, hook, attempt)]
  const logs = both.flatMap(({ stdout, stderr }) => [['output', stdout] as const, ['errors', stderr] as const])
  const own = Object.fromEntries(logs.filter(([, path]) => there.has(path)))
  return hosted.has(attemptName(plugin, hook, attempt)) ? { ...own, output: HOSTED_LOG } : own
}
