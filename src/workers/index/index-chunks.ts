import { closeSync, openSync, readFileSync, readSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { ListedPage, PageChange } from '../../db/archived-pages.ts'
import { type ChunkLines, chunkLine, chunkText, parseChunk } from '../../pages/index-chunk.ts'
import { forgetState, INDEX_FOLDER } from './index-state.ts'
import { publishFile } from './publish-file.ts'

/** How much of a page's text the search covers. */
const TEXT_CHARS = 300

/**
 * Brings one chunk up to date.
 * @param isKnown the index counts its pages already
 * @returns the number of pages in the chunk now
 */
export async function writeChunk(
  dataDir: string,
  chunk: number,
  changes: readonly PageChange[],
  isKnown: boolean,
): Promise<number> {
  const file = join(dataDir, INDEX_FOLDER, `${chunk}.js`)
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
    forgetState(dataDir)
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
