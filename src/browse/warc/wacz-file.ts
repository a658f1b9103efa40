import { createHash, hash } from 'node:crypto'
import { once } from 'node:events'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { gzip as zlibGzip } from 'node:zlib'
import { ZipFile } from 'yazl'
import { VERSION } from '../../base/version.ts'

const gzip = promisify(zlibGzip)

/** The paths of the parts of a WACZ. */
export const ARCHIVE = 'data.warc.gz'
const PAGES = 'pages/pages.jsonl'
/** The name by which pywb finds an index; it ignores a plain `.cdxj`. */
const INDEX = 'index.cdx.gz'
const BLOCKS = 'indexes/index.idx'
/** A smaller part is written in one go: a stream would cost more. */
const SMALL = 256 * 1024
/** The number of lines that are compressed together, as other makers of WACZ files do. */
const BLOCK_LINES = 1_024

/** A page as replay tools list it. */
export interface WaczPage {
  readonly id: string
  readonly url: string
  /** When its response arrived. */
  readonly ts: string
  readonly title?: string
  /** The text for searches. */
  readonly text?: string
}

/** The metadata of a package. */
export interface WaczInfo {
  readonly title?: string
  /** Shown first. */
  readonly mainPage?: WaczPage
}

/**
 * Writes a WACZ 1.1.1: a zip with WARC, index, list of pages, and the hashes of these. Parts are written one after the
 * other, as they arrive, so memory does not grow with them.
 */
export class WaczFile {
  readonly #zip = new ZipFile()
  readonly #out: Writable
  readonly #written: Promise<void>
  readonly #resources: { name: string; path: string; hash: string; bytes: number }[] = []

  /** @param out a file that the caller renames or deletes, or stdout, which stays open */
  constructor(out: Writable) {
    this.#out = out
    this.#written = pipeline(this.#zip.outputStream, out, { end: out !== process.stdout })
    this.#written.catch(() => {}) // The next call that adds something throws the error.
  }

  /** Adds the records, as gzip members. */
  async archive(bytes: AsyncIterable<Buffer>): Promise<void> {
    await this.#add(`archive/${ARCHIVE}`, bytes, false)
  }

  /**
   * Adds the lines of the index, sorted: in blocks, with a list of these, so that a reader loads only what it needs.
   */
  async index(lines: AsyncIterable<string> | Iterable<string>): Promise<void> {
    const blocks = [`!meta 0 ${JSON.stringify({ format: 'cdxj-gzip-1.0', filename: INDEX })}\n`]
    let offset = 0
    const compressed = async function* () {
      for await (const block of inBlocks(lines)) {
        const bytes = await gzip(block.join(''))
        const place = { offset, length: bytes.length, digest: `sha256:${hash('sha256', bytes)}`, filename: INDEX }
        blocks.push(`${block[0]!.slice(0, block[0]!.indexOf(' {'))} ${JSON.stringify(place)}\n`)
        offset += bytes.length
        yield bytes
      }
    }
    await this.#add(`indexes/${INDEX}`, compressed(), false)
    await this.#add(BLOCKS, encoded(blocks), false)
  }

  async pages(pages: AsyncIterable<WaczPage> | Iterable<WaczPage>): Promise<void> {
    const lines = async function* () {
      yield `${JSON.stringify({ format: 'json-pages-1.0', id: 'pages', title: 'All Pages' })}\n`
      for await (const page of pages) yield `${JSON.stringify(page)}\n`
    }
    await this.#add(PAGES, encoded(lines()), true)
  }

  /** Writes the descriptions of the parts, and waits until everything is written. Throws the file system's error. */
  async finish({ title, mainPage }: WaczInfo): Promise<void> {
    const described = {
      profile: 'data-package',
      wacz_version: '1.1.1',
      title,
      created: new Date().toISOString(),
      software: `archivebox-ts/${VERSION}`,
      mainPageUrl: mainPage?.url,
      mainPageDate: mainPage?.ts,
      resources: this.#resources,
    }
    const text = Buffer.from(JSON.stringify(described, null, 2))
    const digest = { path: 'datapackage.json', hash: `sha256:${hash('sha256', text)}` }
    this.#zip.addBuffer(text, 'datapackage.json')
    this.#zip.addBuffer(Buffer.from(JSON.stringify(digest, null, 2)), 'datapackage-digest.json')
    this.#zip.end()
    await this.#written
  }

  /** Abandons the file. */
  abandon(): void {
    this.#out.destroy()
  }

  async #add(path: string, bytes: AsyncIterable<Buffer>, compress: boolean): Promise<void> {
    const sha = createHash('sha256')
    let size = 0
    const measured = async function* () {
      for await (const piece of bytes) {
        sha.update(piece)
        size += piece.length
        yield piece
      }
    }
    const { first, all } = await split(measured())
    if (all) {
      const stream = Readable.from(all, { objectMode: false })
      this.#zip.addReadStream(stream, path, { compress })
      await Promise.race([once(stream, 'end'), this.#written])
    } else this.#zip.addBuffer(Buffer.concat(first), path, { compress })
    this.#resources.push({
      name: path.slice(path.indexOf('/') + 1),
      path,
      hash: `sha256:${sha.digest('hex')}`,
      bytes: size,
    })
  }
}

/** The first pieces of a part; all of them if it is small. */
async function split(
  pieces: AsyncGenerator<Buffer, void>,
): Promise<{ first: readonly Buffer[]; all?: AsyncGenerator<Buffer, void> }> {
  const first: Buffer[] = []
  for (let size = 0; size < SMALL; size += first.at(-1)!.length) {
    const { value, done } = await pieces.next()
    if (done) return { first }
    first.push(value)
  }
  const both = async function* () {
    yield* first
    yield* pieces
  }
  return { first, all: both() }
}

async function* inBlocks(lines: AsyncIterable<string> | Iterable<string>): AsyncGenerator<string[], void> {
  let block: string[] = []
  for await (const line of lines) {
    block.push(line)
    if (block.length < BLOCK_LINES) continue
    yield block
    block = []
  }
  if (block.length > 0) yield block
}

async function* encoded(lines: AsyncIterable<string> | Iterable<string>): AsyncGenerator<Buffer, void> {
  for await (const line of lines) yield Buffer.from(line)
}
