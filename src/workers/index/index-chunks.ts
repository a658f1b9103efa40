import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { PageChange } from '../../db/archived-pages.ts'
import type { Home } from '../../db/home.ts'
import { meaningsIn } from '../../db/meanings.ts'
import { otherNodes } from '../../db/nodes.ts'
import { type ChunkLines, chunkLine, chunkText, parseChunk } from '../../pages/index-chunk.ts'
import { entryOf } from '../../pages/model/entry.ts'
import { forgetState, INDEX_FOLDER } from './index-state.ts'
import { publishFile } from './publish-file.ts'

/**
 * Brings one chunk up to date.
 * @param isKnown the index counts its pages already
 * @returns the number of pages in the chunk now
 */
export async function writeChunk(
  home: Pick<Home, 'db' | 'dataDir' | 'dataDirId'>,
  chunk: number,
  changes: readonly PageChange[],
  isKnown: boolean,
): Promise<number> {
  const { db, dataDir } = home
  const file = join(dataDir, INDEX_FOLDER, `${chunk}.js`)
  const before = isKnown ? readChunk(dataDir, file) : ''
  const lines: ChunkLines = before === '' ? new Map() : parseChunk(before)
  const meanings = await meaningsIn(db)
  const nodeOf = await otherNodes(
    home,
    changes.flatMap(({ page }) => page ?? []),
  )
  for (const { number, crawl_id, page } of changes) {
    if (page)
      lines.set(number, chunkLine(entryOf(dataDir, number, crawl_id, { ...page, meanings, node: nodeOf(page) })))
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
    forgetState(dataDir)
    throw error
  }
}
