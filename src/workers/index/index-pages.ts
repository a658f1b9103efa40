import { existsSync, readdirSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { attemptName, earlierLogPaths, HOSTED_LOG, logPaths } from '../../base/attempt-paths.ts'
import { isMachineTrouble, messageOf } from '../../base/errors.ts'
import { type LoggedEnd, readRowLog } from '../../base/row-log.ts'
import { CRAWL_WACZ } from '../../base/wacz/crawl-wacz.ts'
import { hasCopies } from '../../db/archived-pages.ts'
import { crawlProgress } from '../../db/crawl-progress.ts'
import { crawlFacts, latestCrawls } from '../../db/crawl-summaries.ts'
import { type CrawlRow, folderOfCrawl } from '../../db/crawls.ts'
import type { Home } from '../../db/home.ts'
import { resultRecord, snapshotRecord } from '../../db/records.ts'
import { type ResultOfPage, resultsOfPage } from '../../db/results.ts'
import { type SnapshotRow, snapshotById, tagsOfPage } from '../../db/snapshots.ts'
import type { WorkStatus } from '../../db/tables.ts'
import { withoutIndex } from '../../machines/verdict.ts'
import { archivePage } from '../../pages/archive-page.ts'
import { assetFiles, type PageAssets, pageAssets } from '../../pages/assets.ts'
import { copiesFile } from '../../pages/copies.ts'
import { crawlName } from '../../pages/crawl-name.ts'
import { crawlPage } from '../../pages/crawl-page.ts'
import { outputsOf } from '../../pages/outputs.ts'
import { plainPage } from '../../pages/plain-page.ts'
import { snapshotPage } from '../../pages/snapshot-page.ts'
import { updateArchiveIndex } from './archive-index.ts'
import { packCopies } from './packed-copies.ts'
import { publishFile, publishFiles } from './publish-file.ts'

/** What a page shows beside its row. */
interface Shown {
  /** In the order of their hooks. */
  readonly results: readonly ResultOfPage[]
  /** Are there other copies of its URL? */
  readonly isCopied: boolean
  readonly tags: readonly string[]
}

/**
 * Writes index.html and index.jsonl of a snapshot that is sealed or about to be, or only listed. What cannot be shown
 * decides over nothing else: the page then has a plain index that says so.
 * @param crawlDir its crawl's folder
 * @param known read from the database when not given
 * @returns why its index is a plain one, in one line; undefined: it is not
 * Throws what is no fault of the page: trouble of the machine, or of the database.
 */
export async function writeSnapshotPages(
  home: Home,
  snapshot: SnapshotRow,
  crawlDir: string,
  known?: Shown,
): Promise<string | undefined> {
  const { db, dataDir } = home
  const shown = known ?? {
    results: await resultsOfPage(db, snapshot.id),
    isCopied: await hasCopies(db, snapshot),
    tags: await tagsOfPage(db, snapshot.id),
  }
  const dir = join(dataDir, snapshot.output_dir)
  const assets = await writeAssets(home)
  const { html, why } = orPlain(snapshot.url, () => indexOf(home, snapshot, crawlDir, shown, assets))
  const records = [
    snapshotRecord({
      ...withoutIndex(snapshot, why),
      retry_at: snapshot.status === 'sealed' ? null : snapshot.retry_at,
      tags: shown.tags,
    }),
    ...shown.results.map(resultRecord),
  ]
  const lines = records.map((record) => `${JSON.stringify(record)}\n`).join('')
  // With the folder go the names of all that was renamed into it, outputs as well.
  await publishFiles(dir, { 'index.jsonl': lines, 'index.html': html }, [dir])
  return why
}

/** @param name what the page is of */
function orPlain(name: string, made: () => string): { readonly html: string; readonly why?: string } {
  try {
    return { html: made() }
  } catch (error) {
    if (isMachineTrouble(error)) throw error
    const why = `its index cannot be shown: ${messageOf(error)}`
    return { html: plainPage(name, why), why }
  }
}

function indexOf(
  { dataDir }: Home,
  snapshot: SnapshotRow,
  crawlDir: string,
  { results: rows, isCopied, tags }: Shown,
  assets: PageAssets,
): string {
  const dir = join(dataDir, snapshot.output_dir)
  const above = relative(snapshot.output_dir, '.')
  const logs = logsIn(dir)
  const hosted = readRowLog(join(dir, HOSTED_LOG))
  return snapshotPage({
    assets,
    id: snapshot.id,
    url: snapshot.url,
    title: snapshot.title,
    outcome: snapshot.outcome,
    cause: snapshot.cause,
    httpStatus: snapshot.http_status,
    sealedAt: snapshot.status_changed_at,
    depth: snapshot.depth,
    tags,
    notes: snapshot.notes,
    bookmarkedAt: snapshot.bookmarked_at,
    crawlPath: relative(snapshot.output_dir, crawlDir),
    topPath: above,
    copiesPath: isCopied ? `${above}/${copiesFile(snapshot.url_hash.toString('hex'))}` : undefined,
    outputs: packCopies(
      dir,
      outputsOf(rows.map((row) => ({ ...row, output: row.output_str, files: row.output_files }))),
    ),
    results: rows.map((row) => ({
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
  })
}

/** The logs of a page. Only hooks that printed something have any. */
function logsIn(dir: string): ReadonlySet<string> {
  const folder = join(dir, '.logs')
  const entries = existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : []
  // Earlier versions had a folder for each plugin.
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

/**
 * Writes the page of a crawl in its current state.
 * @returns why it is a plain one, in one line; undefined: it is not
 */
export async function writeCrawlPage(home: Home, crawl: CrawlRow, status: WorkStatus): Promise<string | undefined> {
  const [progress] = status === 'started' ? await crawlProgress(home.db, { crawlId: crawl.id }) : []
  const { counts, chunks, ...named } = await crawlFacts(home.db, crawl.id)
  const assets = await writeAssets(home)
  const shown = {
    ...named,
    assets,
    id: crawl.id,
    tags: crawl.tags,
    status,
    message: crawl.message,
    maxDepth: crawl.max_depth,
    createdAt: crawl.created_at,
    writtenAt: new Date(),
    counts,
    secondsLeft: progress?.seconds_left ?? null,
    waczPath: existsSync(join(home.dataDir, crawl.output_dir, CRAWL_WACZ)) ? CRAWL_WACZ : undefined,
    index: { top: relative(crawl.output_dir, '.'), chunks: chunks.toReversed() },
  }
  const { html, why } = orPlain(crawlName(named), () => crawlPage(shown))
  await publishFile(join(home.dataDir, crawl.output_dir, 'index.html'), html)
  return why
}

/**
 * Brings the index of the archive up to date and writes its front page.
 * @returns false when work remains: there was too much for one call, or another process is writing the index
 */
export async function writeArchivePage(home: Home): Promise<boolean> {
  const index = await updateArchiveIndex(home, async ({ id, crawl_id }) => {
    const [snapshot, crawlDir] = [await snapshotById(home.db, id), await folderOfCrawl(home.db, crawl_id)]
    if (snapshot?.status === 'sealed' && crawlDir) await writeSnapshotPages(home, snapshot, crawlDir)
  })
  if (!index) return false
  const { crawls, totals } = await latestCrawls(home.db)
  const html = archivePage({
    assets: await writeAssets(home),
    crawls,
    totalCrawls: totals.crawls,
    totalPages: index.pages,
    totalBytes: totals.bytes,
    chunks: index.chunks,
  })
  await publishFile(join(home.dataDir, 'index.html'), html)
  return index.isComplete
}

/** Writes the files that all pages share, unless they are there, and whole: a power cut may have left them empty. */
async function writeAssets({ dataDir }: Home): Promise<PageAssets> {
  for (const { path, text } of Object.values(assetFiles())) {
    const file = join(dataDir, path)
    const size = statSync(file, { throwIfNoEntry: false })?.size
    if (size !== Buffer.byteLength(text)) await publishFile(file, text)
  }
  return pageAssets()
}
