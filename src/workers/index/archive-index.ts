import { sleep } from '../../base/abort.ts'
import { type ChangeCursor, chunkOf, copiedUrls, lockIndex, pageChanges } from '../../db/archived-pages.ts'
import type { Database } from '../../db/database.ts'
import type { Home } from '../../db/home.ts'
import { transact } from '../../db/retry.ts'
import { serverIdentity } from '../../db/server-identity.ts'
import type { ArchiveIndex } from '../../pages/model/archive.ts'
import { type Rewrite, writeCopies } from './copies-lists.ts'
import { writeChunk } from './index-chunks.ts'
import { type IndexState, readState, writeState } from './index-state.ts'

// The index of the archive, which the archive's page and the crawls' pages list. Pages are grouped by number into
// chunks. An update asks the database what has changed since the last one and rewrites only the chunks concerned. The
// cursor lies beside the chunks: the next writer continues from it, and starts over when it is missing.

/** Changes per step, made under the lock: about 100 ms. */
const BATCH = 2_000
/** The longest an update keeps its caller waiting; the next update does the rest. */
const MOST_MS = 1_000
/** A transaction that holds the lock for longer counts as stuck. */
const LOCK_MS = 5_000

interface IndexSummary extends ArchiveIndex {
  /** Nothing remains to be updated. */
  readonly isComplete: boolean
}

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

interface IndexStep {
  readonly state: IndexState
  /** Where the next step begins; null after the last step. */
  readonly next: ChangeCursor | null
}

/** @param after where the previous step ended; undefined in the first */
async function takeStep(
  home: Home,
  tx: Database,
  server: string | null,
  after: ChangeCursor | undefined,
): Promise<IndexStep> {
  const before = readState(home.dataDir, server)
  const { changes, next, settled } = await pageChanges(tx, after ?? before.cursor, BATCH)
  if (changes.length === 0) return { state: before, next: null }
  const chunks = { ...before.chunks }
  for (const [chunk, part] of Map.groupBy(changes, ({ number }) => chunkOf(number))) {
    const pages = await writeChunk({ ...home, db: tx }, chunk, part, chunk in chunks)
    if (pages === 0) delete chunks[chunk]
    else chunks[chunk] = pages
  }
  const changed = await copiedUrls(tx, [...new Set(changes.map(({ url_hash }) => url_hash))])
  const copied = [...new Set([...(before.copied ?? []), ...changed])]
  const state = { server, cursor: settled, chunks, copied }
  await writeState(home.dataDir, state)
  return { state, next }
}

/** Notes that the lists of copies of these URLs are written. */
async function forgetCopied({ dataDir }: Home, server: string | null, written: readonly string[]): Promise<void> {
  const state = readState(dataDir, server)
  const done = new Set(written)
  await writeState(dataDir, { ...state, copied: (state.copied ?? []).filter((hash) => !done.has(hash)) })
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
