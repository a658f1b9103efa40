import { hash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { constants, gunzipSync, gzipSync } from 'node:zlib'
import { capturedAt, type IndexLine, linesIn, lineText, timeOf } from './index-line.ts'
import { SortedLines } from './sorted-lines.ts'
import { ARCHIVE, type WaczFile, type WaczInfo, type WaczPage } from './wacz-file.ts'

/** The number of bodies that are recognised; later ones are stored as often as they occur. */
const MOST_KNOWN = 200_000
/** The approximate size of a record that refers to another one. */
const LEAST_BYTES = 1_500
/** Enough to find the head of a response in a record. */
const HEAD_BYTES = 64 * 1024
const PIECE = 1024 * 1024
const END = '\r\n\r\n'

/** A page whose WARC goes into a package. */
export interface PageSource extends Omit<WaczPage, 'ts'> {
  /** The folder of its `data.warc.gz` and `index.cdxj`. */
  readonly folder: string
}

/** The first record with a body. */
interface Stored {
  readonly url: string
  readonly date: string
}

/**
 * Merges the WARCs of pages into one, with one index: a body that an earlier page has contributed is stored once, and
 * later records refer to it (`revisit`). Uses little memory however many pages there are.
 * @param pages is iterated twice
 * @returns the number of pages in it; those without a WARC do not count
 */
export async function mergePages(
  wacz: WaczFile,
  pages: () => Iterable<PageSource>,
  info: Omit<WaczInfo, 'mainPage'>,
): Promise<number> {
  const index = new SortedLines()
  const times: string[] = []
  let first: WaczPage | undefined
  try {
    await wacz.archive(recordsOf(pages(), index, times))
    await wacz.index(index.merged())
    let count = 0
    const listed = function* (): Generator<WaczPage> {
      let at = 0
      for (const { folder, ...page } of pages()) {
        const ts = times[at++]
        if (ts === undefined || ts === '') continue
        count += 1
        first ??= { ...page, ts }
        yield { ...page, ts }
      }
    }
    await wacz.pages(listed())
    await wacz.finish({ ...info, ...(first && { mainPage: first }) })
    return count
  } finally {
    index.close()
  }
}

/** @param times is filled with the time when each page was loaded; empty: it has no WARC */
async function* recordsOf(
  pages: Iterable<PageSource>,
  index: SortedLines,
  times: string[],
): AsyncGenerator<Buffer, void> {
  const known = new Map<string, Stored>()
  let offset = 0
  for (const { folder, url } of pages) {
    const [warc, list] = ['data.warc.gz', 'index.cdxj'].map((name) => join(folder, name)) as [string, string]
    const lines = existsSync(warc) && existsSync(list) ? linesIn(readFileSync(list, 'utf8')) : []
    times.push(lines.length > 0 ? (capturedAt(url, lines) ?? timeOf(lines[0]!)) : '')
    if (lines.length === 0) continue
    const file = await open(warc)
    try {
      for await (const { line, pieces } of partsOf(file, lines, known)) {
        const start = offset
        for await (const piece of pieces) {
          offset += piece.length
          yield piece
        }
        const place = { offset: String(start), length: String(offset - start), filename: ARCHIVE }
        if (line) index.add(lineText({ ...line, fields: { ...line.fields, ...place } }))
      }
    } finally {
      await file.close()
    }
  }
}

/** A record with its line in the index, or the bytes between such records. */
interface Part {
  readonly line?: IndexLine
  readonly pieces: AsyncIterable<Buffer> | readonly Buffer[]
}

/** Yields a WARC from beginning to end, with references in place of known bodies. */
async function* partsOf(
  file: FileHandle,
  lines: readonly IndexLine[],
  known: Map<string, Stored>,
): AsyncGenerator<Part, void> {
  let at = 0
  for (const line of lines.toSorted((a, b) => Number(a.fields.offset) - Number(b.fields.offset))) {
    const { digest, url, mime } = line.fields
    const [start, length] = [Number(line.fields.offset), Number(line.fields.length)]
    yield { pieces: bytesOf(file, at, start) }
    at = start + length
    const stored = known.get(digest)
    const isWorth = mime === REVISIT || length >= LEAST_BYTES
    const revisit = stored && isWorth ? await referring(file, line, stored) : undefined
    if (revisit) yield { line: { ...line, fields: { ...line.fields, mime: REVISIT } }, pieces: [revisit] }
    else yield { line, pieces: bytesOf(file, start, at) }
    if (!stored && mime !== REVISIT && known.size < MOST_KNOWN) known.set(digest, { url, date: timeOf(line) })
  }
  yield { pieces: bytesOf(file, at, (await file.stat()).size) }
}

async function* bytesOf(file: FileHandle, from: number, to: number): AsyncGenerator<Buffer, void> {
  for (let at = from; at < to; ) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(Math.min(PIECE, to - at)), 0, null, at)
    if (bytesRead === 0) throw new Error('a WARC is shorter than its index says')
    at += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

/**
 * The record of a response, with a reference in place of its body. (Also for a record that is a reference: its target
 * may have become one.) Undefined when it is not a response.
 */
async function referring(file: FileHandle, { fields }: IndexLine, { url, date }: Stored): Promise<Buffer | undefined> {
  const start = Number(fields.offset)
  const packed: Buffer[] = []
  for await (const piece of bytesOf(file, start, start + Math.min(HEAD_BYTES, Number(fields.length))))
    packed.push(piece)
  const text = gunzipSync(Buffer.concat(packed), { finishFlush: constants.Z_SYNC_FLUSH }).toString('latin1')
  const [top = '', http] = text.split(END, 2)
  if (http === undefined || !/^WARC-Type: (?:response|revisit)\r$/m.test(top)) return undefined
  const block = `${http}${END}`
  const kept = top.split('\r\n').filter((field) => !OF_THE_BODY.test(field))
  const own = [
    'WARC-Type: revisit',
    'WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest',
    `WARC-Refers-To-Target-URI: ${url}`,
    `WARC-Refers-To-Date: ${date}`,
    `WARC-Block-Digest: sha256:${hash('sha256', Buffer.from(block, 'latin1'))}`,
    `Content-Length: ${block.length}`,
  ]
  return gzipSync(Buffer.from(`${[...kept, ...own].join('\r\n')}${END}${block}${END}`, 'latin1'))
}

const REVISIT = 'warc/revisit'
const OF_THE_BODY =
  /^(?:WARC-(?:Type|Profile|Refers-To|Refers-To-Target-URI|Refers-To-Date|Block-Digest)|Content-Length):/
