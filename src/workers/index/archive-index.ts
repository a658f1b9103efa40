import { closeSync, openSync, readFileSync, readSync, rmSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sleep } from '../../base/abort.ts'
import { codeOf } from '../../base/errors.ts'
import {
  type ChangeCursor,
  chunkOf,
  copiedUrls,
  copiesOfUrl,
  type ListedPage,
  lockIndex,
  type PageChange,
  pageChanges,
} from '../../db/archived-pages.ts'
import type { Database } from '../../db/database.ts'
import type { Home } from '../../db/home.ts'
import { transact } from '../../db/retry.ts'
import { serverIdentity } from '../../db/server-identity.ts'
import { copiesFile, copiesText, listedCopies } from '../../pages/copies.ts'
import { type ChunkLines, chunkLine, chunkText, parseChunk } from '../../pages/index-chunk.ts'
import { publishFile } from './publish-file.ts'

// The index of the archive, which the archive's page and the crawls' pages list. Pages are grouped by number into
// chunks. An update asks the database what has changed since the last one and rewrites only the chunks concerned. The
// cursor lies beside the chunks: the next writer continues from it, and starts over when it is missing.

const FOLDER = 'archive/index'
/** Changes per step, made under the lock: about 100 ms. */
const BATCH = 2_000
/** The longest an update keeps its caller waiting; the next update does the rest. */
const MOST_MS = 1_000
/** How much of a page's text the search covers. */
const TEXT_CHARS = 300
/** At most this many copies of one URL are listed. */
const MOST_COPIES = 100
/** A transaction that holds the lock for longer is taken to be stuck. */
const LOCK_MS = 5_000

interface IndexState {
  /** The server whose transactions the cursor counts. */
  readonly server: string | null
  readonly cursor: ChangeCursor | null
  /** The number of pages in each chunk. */
  readonly chunks: Readonly<Record<string, number>>
  /** SHA-256 of the URLs whose lists of copies are to be written: the cursor has passed them. */
  readonly copied?: readonly string[]
}

/** What the index contains. */
export interface IndexSummary {
  /** Newest first. */
  readonly chunks: readonly number[]
  readonly pages: number
  /** Nothing remains to be updated. */
  readonly isComplete: boolean
}

/** Rewrites a page that does not list its other copies yet. */
type Rewrite = (page: { readonly id: string; readonly crawl_id: string }) => Promise<void>

/**
 * Brings the index up to date. The cost depends on what has changed, not on the size of the archive; the first time,
 * and with another database, everything counts as changed.
 * @returns what the index contains; null when another writer has held the lock for seconds and will do the work
 */
export async function updateArchiveIndex(home: Home, rewrite: Rewrite): Promise<IndexSummary | null> {
  const server = await serverIdentity(home.db)
  const until = performance.now() + MOST_MS
  for (let after: ChangeCursor | undefined; ; ) {
    const from = after
    const step = await withLock(home, (tx) => takeStep(home, tx, server, from))
    if (!step) return null
    const { copied = [] } = step.state
    if (copied.length > 0) {
      await writeCopies(home, copied, rewrite)
      await withLock(home, () => forgetCopied(home, server, copied))
    }
    after = step.next ?? undefined
    if (after && performance.now() < until) continue
    const chunks = Object.entries(step.state.chunks)
    return {
      chunks: chunks.map(([chunk]) => Number(chunk)).sort((a, b) => b - a),
      pages: chunks.reduce((sum, [, pages]) => sum + pages, 0),
      isComplete: !after,
    }
  }
}

interface Step {
  readonly state: IndexState
  /** Where the next step begins; null after the last step. */
  readonly next: ChangeCursor | null
}

/** @param after where the previous step ended; undefined in the first */
async function takeStep(
  { dataDir }: Home,
  tx: Database,
  server: string | null,
  after: ChangeCursor | undefined,
): Promise<Step> {
  const before = readState(dataDir, server)
  const { changes, next, settled } = await pageChanges(tx, after ?? before.cursor, BATCH)
  if (changes.length === 0) return { state: before, next: null }
  const chunks = { ...before.chunks }
  for (const [chunk, part] of Map.groupBy(changes, ({ number }) => chunkOf(number))) {
    const pages = await writeChunk(dataDir, chunk, part, chunk in chunks)
    if (pages === 0) delete chunks[chunk]
    else chunks[chunk] = pages
  }
  const changed = await copiedUrls(tx, [...new Set(changes.map(({ url_hash }) => url_hash))])
  const copied = [...new Set([...(before.copied ?? []), ...changed])]
  const state = { server, cursor: settled, chunks, copied }
  await writeState(dataDir, state)
  return { state, next }
}

/** The lists of copies of these URLs are written. */
async function forgetCopied({ dataDir }: Home, server: string | null, written: readonly string[]): Promise<void> {
  const state = readState(dataDir, server)
  const done = new Set(written)
  await writeState(dataDir, { ...state, copied: (state.copied ?? []).filter((hash) => !done.has(hash)) })
}

async function writeState(dataDir: string, state: IndexState): Promise<void> {
  await publishFile(statePath(dataDir), `${JSON.stringify(state)}\n`)
}

const statePath = (dataDir: string) => join(dataDir, FOLDER, 'state.json')

/** Returns an empty state when a chunk is missing or damaged, so that everything is written again. */
function readState(dataDir: string, server: string | null): IndexState {
  const fresh = { server, cursor: null, chunks: {} }
  try {
    const state = JSON.parse(readFileSync(statePath(dataDir), 'utf8')) as IndexState
    return state.server === server ? state : fresh
  } catch {
    return fresh
  }
}

/** @returns the number of pages in the chunk now */
async function writeChunk(
  dataDir: string,
  chunk: number,
  changes: readonly PageChange[],
  isKnown: boolean,
): Promise<number> {
  const file = join(dataDir, FOLDER, `${chunk}.js`)
  const before = isKnown ? readChunk(dataDir, file) : ''
  const lines: ChunkLines = before === '' ? new Map() : parseChunk(before)
  for (const { number, crawl_id, page } of changes) {
    if (page) lines.set(number, lineOf(dataDir, number, crawl_id, page))
    else lines.delete(number)
  }
  const text = lines.size === 0 ? '' : chunkText(chunk, lines)
  if (text === '') rmSync(file, { force: true })
  else if (text !== before) await publishFile(file, text)
  return lines.size
}

/** Reads a chunk. A damaged one deletes the state of the index, too, so that the next update writes everything. */
function readChunk(dataDir: string, file: string): string {
  try {
    const text = readFileSync(file, 'utf8')
    parseChunk(text)
    return text
  } catch (error) {
    rmSync(statePath(dataDir), { force: true })
    throw error
  }
}

function lineOf(dataDir: string, number: number, crawlId: string, page: ListedPage): string {
  const pictureOf = (plugin: string) => {
    const isPicture = (path: string) => /\.(png|jpe?g|webp|gif|ico|svg|avif)$/i.test(path)
    const pictures = page.pictures.filter((path) => path.startsWith(`${plugin}/`) && isPicture(path))
    return pictures.find((path) => path.startsWith(`${plugin}/thumbnail.`)) ?? pictures[0] ?? ''
  }
  return chunkLine({
    number,
    crawlId,
    sealedAt: page.sealed_at,
    outcome: page.outcome,
    tags: page.tags,
    cause: page.cause,
    httpStatus: page.http_status,
    path: page.output_dir,
    icon: pictureOf('favicon'),
    picture: pictureOf('screenshot'),
    size: page.output_size,
    url: page.url,
    title: page.title,
    text: beginningOf(join(dataDir, page.output_dir)),
  })
}

/** The beginning of a page's text: its article, else that of a PDF. */
function beginningOf(folder: string): string {
  return beginning(join(folder, 'readability', 'content.txt')) || beginning(join(folder, 'pdftext', 'content.txt'))
}

/** The first bytes of a file; '' when it does not exist. */
function beginning(file: string): string {
  let fd: number | undefined
  try {
    fd = openSync(file, 'r')
    const bytes = Buffer.alloc(TEXT_CHARS * 4)
    const text = bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, 0)).toString('utf8')
    return text.replace(/\s+/g, ' ').trim().slice(0, TEXT_CHARS)
  } catch {
    return ''
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/**
 * Writes the lists of copies of these URLs, and before that the pages that do not link to theirs yet: what an earlier
 * list names was looked at then, so that another copy of a page that has a hundred costs one look.
 */
async function writeCopies(home: Home, urls: readonly string[], rewrite: Rewrite): Promise<void> {
  for (const hash of urls) {
    const copies = await copiesOfUrl(home.db, hash, MOST_COPIES)
    const file = copiesFile(hash)
    const list = join(home.dataDir, file)
    const before = listedCopies(await readFile(list, 'utf8').catch(() => ''))
    // The only copy of a list needs no link: it is looked at when there is another.
    const linked = new Set(before.length < 2 ? [] : before)
    for (const copy of copies.length < 2 ? [] : copies.filter(({ output_dir }) => !linked.has(output_dir)))
      await ofOnePage(async () => {
        if (await lacks(join(home.dataDir, copy.output_dir, 'index.html'), file)) await rewrite(copy)
      })
    await publishFile(
      list,
      copiesText(
        copies.map(({ sealed_at, outcome, output_dir }) => ({ sealedAt: sealed_at, outcome, path: output_dir })),
      ),
    )
  }
}

/** A page whose file cannot be read or written keeps no other from its list; `verify` names it. */
async function ofOnePage(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!['EISDIR', 'EACCES', 'EPERM', 'ENOTDIR', 'ELOOP'].includes(codeOf(error) ?? '')) throw error
  }
}

/** A page names what it is shown with at its very end, behind its packed copies. */
const END_BYTES = 4_096

/** Is the page there, and without this script? */
async function lacks(page: string, script: string): Promise<boolean> {
  const file = await open(page).catch(() => undefined)
  if (!file) return false
  try {
    const { size } = await file.stat()
    const end = Buffer.alloc(Math.min(END_BYTES, size))
    await file.read(end, 0, end.length, size - end.length)
    return !end.toString('latin1').includes(script)
  } finally {
    await file.close()
  }
}

/** Runs `work` in a transaction that holds the lock of this data dir. Null when another held it for too long. */
async function withLock<T>(home: Home, work: (tx: Database) => Promise<T>): Promise<T | null> {
  for (const until = performance.now() + LOCK_MS; ; ) {
    const done = await transact(home.db, async (tx) =>
      (await lockIndex(tx, home.dataDirId)) ? { value: await work(tx) } : null,
    )
    if (done) return done.value
    if (performance.now() > until) return null
    await sleep(50)
  }
}
