import { createHash, hash, randomUUID } from 'node:crypto'
import { type FileHandle, open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createGzip, gzipSync, constants as zlib, gzip as zlibGzip } from 'node:zlib'
import { PART } from '../../base/whole-file.ts'
import { parseContentType } from '../http/content-type.ts'
import type { IndexEntry } from './cdxj.ts'
import { type Headers, headerIn, requestHead, responseHead } from './http-message.ts'
import { Payload } from './payload.ts'
import { targetOf } from './whole.ts'

const gzip = promisify(zlibGzip)

/** Takes half the CPU of the default level, for files that are 2 % larger. */
const LEVEL = 4
/** Handing smaller pieces to another thread and back takes longer than compressing, or writing them at once. */
const SMALL = 64 * 1024
/** Already compressed types, which are stored as they are. */
const COMPRESSED = /^(?:image\/(?!svg)|video\/|audio\/|font\/woff|application\/(?:zip|gzip|pdf|x-7z))/
/** The approximate size of a record that refers to an earlier one. */
const LEAST_REVISIT = 512

/** A request and the response to it. */
export interface Exchange {
  readonly url: string
  readonly at: Date
  readonly method: string
  readonly requestHeaders: Headers
  readonly requestBody?: Buffer | undefined
  readonly status: number
  readonly statusText: string
  readonly headers: Headers
  readonly body: Payload
  /** Whether the body is without its content encoding. */
  readonly isDecoded: boolean
  readonly ip?: string | undefined
  /** `h2`, `http/1.1`. */
  readonly protocol?: string | undefined
  /** The browser's purpose for it: `script`, `image`. */
  readonly resourceType?: string | undefined
  /** Why the body is incomplete, in the words of the WARC standard. */
  readonly truncated?: 'length' | 'time' | 'disconnect' | 'unspecified' | undefined
}

type Fields = Readonly<Record<string, string | undefined>>

/**
 * Writes a WARC file (version 1.1, one gzip member per record) under a temporary name, and renames it when it is
 * complete. A body that the file already has becomes a reference (`revisit`), which never points outside of the file.
 */
export class WarcWriter {
  readonly index: IndexEntry[] = []
  readonly #folder: string
  readonly #file: FileHandle
  readonly #stored = new Map<string, { readonly url: string; readonly date: string; readonly id: string }>()
  #size = 0
  /** The end of the file, while it is small. */
  #held: Buffer[] = []
  #heldBytes = 0

  private constructor(folder: string, file: FileHandle) {
    this.#folder = folder
    this.#file = file
  }

  /** Begins a file in `folder`, with its warcinfo. */
  static async open(folder: string, name: string, info: Readonly<Record<string, string>>): Promise<WarcWriter> {
    const writer = new WarcWriter(folder, await open(join(folder, PART), 'w'))
    const fields = Object.entries({ format: 'WARC File Format 1.1', ...info })
    const text = fields.map(([key, value]) => `${key}: ${value}\r\n`).join('')
    const type = { 'Content-Type': 'application/warc-fields', 'WARC-Filename': name }
    await writer.#write('warcinfo', new Date(), type, '', Payload.of(Buffer.from(text)))
    return writer
  }

  /** The number of bytes so far. */
  get size(): number {
    return this.#size
  }

  async exchange(exchange: Exchange): Promise<void> {
    const { url, at, method, status, headers, body } = exchange
    const { mime } = parseContentType(headerIn(headers, 'content-type'))
    const digest = `sha256:${body.digest}`
    const before = body.size >= LEAST_REVISIT ? this.#stored.get(digest) : undefined
    const id = newId()
    const date = at.toISOString()
    const fields = {
      'WARC-Target-URI': url,
      'WARC-IP-Address': exchange.ip,
      'WARC-Protocol': exchange.protocol,
      'WARC-Resource-Type': exchange.resourceType,
      'WARC-Truncated': exchange.truncated,
      'WARC-Payload-Digest': digest,
      'WARC-Profile': before && 'http://netpreserve.org/warc/1.1/revisit/identical-payload-digest',
      'WARC-Refers-To': before?.id,
      'WARC-Refers-To-Target-URI': before?.url,
      'WARC-Refers-To-Date': before?.date,
      'WARC-Record-ID': id,
      'Content-Type': 'application/http; msgtype=response',
    }
    const head = responseHead(status, exchange.statusText, headers, { size: body.size, isDecoded: exchange.isDecoded })
    const level = COMPRESSED.test(mime) ? zlib.Z_NO_COMPRESSION : LEVEL
    const place = before
      ? await this.#write('revisit', at, fields, head)
      : await this.#write('response', at, fields, head, body, level)
    if (!before && !exchange.truncated) this.#stored.set(digest, { url, date, id })
    // Replay answers range requests from complete records, and would take this for one.
    const { truncated } = exchange
    const leadsTo = targetOf(exchange)
    const said = { url, at, mime: before ? 'warc/revisit' : mime, status, digest, truncated, leadsTo }
    if (status !== 206) this.index.push({ ...said, ...place, ...asked(exchange) })
    await this.#write(
      'request',
      at,
      {
        'WARC-Target-URI': url,
        'WARC-Concurrent-To': id,
        'Content-Type': 'application/http; msgtype=request',
      },
      requestHead(method, url, exchange.requestHeaders, exchange.requestBody?.length),
      exchange.requestBody && Payload.of(exchange.requestBody),
    )
  }

  /** Adds something made from the page: a picture, its text. */
  async resource(url: string, at: Date, mime: string, bytes: Buffer): Promise<void> {
    const body = Payload.of(bytes)
    const digest = `sha256:${body.digest}`
    const fields = { 'WARC-Target-URI': url, 'WARC-Payload-Digest': digest, 'Content-Type': mime }
    const level = COMPRESSED.test(mime) ? zlib.Z_NO_COMPRESSION : LEVEL
    const place = await this.#write('resource', at, fields, '', body, level)
    this.index.push({ url, at, mime, status: 200, digest, ...place })
  }

  async metadata(url: string, at: Date, value: object): Promise<void> {
    const body = Payload.of(Buffer.from(JSON.stringify(value)))
    await this.#write('metadata', at, { 'WARC-Target-URI': url, 'Content-Type': 'application/json' }, '', body)
  }

  /** Puts the file in its place. */
  async finish(name: string): Promise<void> {
    await this.#flush()
    await this.#file.close()
    await rename(join(this.#folder, PART), join(this.#folder, name))
  }

  /** Abandons the file; the caller deletes its folder. */
  async abandon(): Promise<void> {
    await this.#file.close().catch(() => {})
  }

  async #write(type: string, at: Date, fields: Fields, head: string, body?: Payload, level = LEVEL) {
    const size = Buffer.byteLength(head) + (body?.size ?? 0)
    const all: Fields = {
      'WARC-Type': type,
      'WARC-Record-ID': newId(),
      'WARC-Date': at.toISOString(),
      ...fields,
      'WARC-Block-Digest': `sha256:${await digestOf(head, body)}`,
      'Content-Length': String(size),
    }
    const lines = Object.entries(all).filter(([, value]) => value !== undefined)
    const top = `WARC/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${head}`
    const offset = this.#size
    const bytes = body ? body.bytes : EMPTY
    if (bytes) {
      const record = Buffer.concat([Buffer.from(top), bytes, END])
      await this.#append(record.length < SMALL ? gzipSync(record, { level }) : await gzip(record, { level }))
    } else {
      const member = createGzip({ level })
      const feed = async () => {
        member.write(top)
        for await (const piece of body!.pieces())
          if (!member.write(piece)) await new Promise((resolve) => member.once('drain', resolve))
        member.end(END)
      }
      const fed = feed().catch((error: Error) => member.destroy(error))
      for await (const piece of member) await this.#append(piece as Buffer)
      await fed
    }
    return { offset, length: this.#size - offset }
  }

  async #append(bytes: Buffer): Promise<void> {
    this.#size += bytes.length
    this.#held.push(bytes)
    this.#heldBytes += bytes.length
    if (this.#heldBytes >= SMALL) await this.#flush()
  }

  async #flush(): Promise<void> {
    const held = Buffer.concat(this.#held)
    this.#held = []
    this.#heldBytes = 0
    await this.#file.writeFile(held)
  }
}

const EMPTY = Buffer.alloc(0)
const END = Buffer.from('\r\n\r\n')

const newId = () => `<urn:uuid:${randomUUID()}>`

/** The index fields of a request other than GET. */
const asked = ({ method, requestHeaders, requestBody }: Exchange) =>
  method === 'GET' ? {} : { request: { method, headers: requestHeaders, body: requestBody } }

async function digestOf(head: string, body: Payload | undefined): Promise<string> {
  if (!body) return hash('sha256', head)
  if (head === '') return body.digest
  const block = createHash('sha256').update(head)
  for await (const piece of body.pieces()) block.update(piece)
  return block.digest('hex')
}
