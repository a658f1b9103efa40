import { statSync } from 'node:fs'
import { join } from 'node:path'
import { isMachineTrouble, messageOf } from '../../base/errors.ts'
import type { CrawlRow } from '../../db/crawls.ts'
import type { Home } from '../../db/home.ts'
import { isAway } from '../../db/nodes.ts'
import { resultRecord, snapshotRecord } from '../../db/records.ts'
import { snapshotById } from '../../db/snapshots.ts'
import { withoutIndex } from '../../machines/verdict.ts'
import { archivePage } from '../../pages/archive-page.ts'
import { assetFiles } from '../../pages/assets.ts'
import { crawlPage } from '../../pages/crawl-page.ts'
import { readArchivePage } from '../../pages/model/archive.ts'
import { readCrawlPage } from '../../pages/model/crawl.ts'
import { crawlName } from '../../pages/model/crawl-name.ts'
import { type SnapshotRows, snapshotPageOf, snapshotRows } from '../../pages/model/snapshot.ts'
import { onDisk } from '../../pages/on-disk.ts'
import { plainPage } from '../../pages/plain-page.ts'
import { snapshotPage } from '../../pages/snapshot-page.ts'
import { updateArchiveIndex } from './archive-index.ts'
import { publishFile, publishFiles } from './publish-file.ts'

/**
 * Writes index.html and index.jsonl of a snapshot that is sealed or about to be, or only listed. A page that cannot be
 * rendered affects nothing else: it gets a plain index that says so. Writes nothing for a snapshot that was deleted, or
 * has its files on another node. Throws errors that are not the page's fault: trouble of the machine, or of the
 * database.
 * @param known is not read from the database
 * @returns why its index is a plain one, in one line; undefined: it is not
 */
export async function writeSnapshotPages(
  home: Home,
  id: string,
  known: Partial<SnapshotRows> = {},
): Promise<string | undefined> {
  const rows = await snapshotRows(home, id, known)
  if (rows === undefined || isAway(rows.snapshot.home_node, home)) return undefined
  const { snapshot, results, tags } = rows
  const dir = join(home.dataDir, snapshot.output_dir)
  await writeAssets(home)
  const place = onDisk(home.dataDir, snapshot.output_dir)
  const { html, why } = orPlain(snapshot.url, () => snapshotPage(snapshotPageOf(home, rows), place))
  const records = [
    snapshotRecord({
      ...withoutIndex(snapshot, why),
      retry_at: snapshot.status === 'sealed' ? null : snapshot.retry_at,
      tags,
    }),
    ...results.map(resultRecord),
  ]
  const lines = records.map((record) => `${JSON.stringify(record)}\n`).join('')
  // Flushing the folder also flushes the names of everything that was renamed into it, outputs included.
  await publishFiles(dir, { 'index.jsonl': lines, 'index.html': html }, [dir])
  return why
}

/** @param name the name of the page's subject */
function orPlain(name: string, made: () => string): { readonly html: string; readonly why?: string } {
  try {
    return { html: made() }
  } catch (error) {
    if (isMachineTrouble(error)) throw error
    const why = `its index cannot be shown: ${messageOf(error)}`
    return { html: plainPage(name, why), why }
  }
}

/**
 * Writes the page of a crawl in its current state, if it was not deleted.
 * @param known its row, if it need not be read from the database
 * @returns why it is a plain one, in one line; undefined: it is not
 */
export async function writeCrawlPage(home: Home, id: string, known?: CrawlRow): Promise<string | undefined> {
  const crawl = await readCrawlPage(home, id, known)
  if (crawl === undefined) return undefined
  await writeAssets(home)
  const { html, why } = orPlain(crawlName(crawl), () => crawlPage(crawl, onDisk(home.dataDir, crawl.folder)))
  await publishFile(join(home.dataDir, crawl.folder, 'index.html'), html)
  return why
}

/**
 * Brings the index of the archive up to date and writes its front page.
 * @returns false when work remains: there was too much for one call, or another process is writing the index
 */
export async function writeArchivePage(home: Home): Promise<boolean> {
  const index = await updateArchiveIndex(home, async (id) => {
    const snapshot = await snapshotById(home.db, id)
    if (snapshot?.status === 'sealed') await writeSnapshotPages(home, id, { snapshot })
  })
  if (!index) return false
  const archive = await readArchivePage(home, index)
  await writeAssets(home)
  await publishFile(join(home.dataDir, 'index.html'), archivePage(archive, onDisk(home.dataDir, '')))
  return index.isComplete
}

/** Writes the files that all pages share, unless they are complete: a power cut may have left them empty. */
async function writeAssets({ dataDir }: Home): Promise<void> {
  for (const { path, text } of Object.values(assetFiles())) {
    const file = join(dataDir, path)
    const size = statSync(file, { throwIfNoEntry: false })?.size
    if (size !== Buffer.byteLength(text)) await publishFile(file, text)
  }
}
