import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate } from 'node:timers/promises'
import type { OpenFile } from './open-inside.ts'
import { pageDecoder } from './page-decoder.ts'
import { rangeOf } from './range.ts'
import { TamedHtml } from './tamed-html.ts'

/** The version of how HTML is made harmless: a new number keeps browsers from using older copies. */
const TAMED = 'tamed-3'
/** How much of its beginning is read to tell the encoding of a page. */
const HEAD_BYTES = 65_536

export interface Sending {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly headers: Readonly<Record<string, string>>
  readonly file: OpenFile
  /** Tells the files of a capture apart. */
  readonly name: string
}

/** Sends a file byte for byte, or the requested part of it. The file is closed, whatever happens. */
export async function sendFile({ request, response, headers, file, name }: Sending): Promise<void> {
  const { handle, stats } = file
  try {
    const tags = { ETag: tagOf(file, name, ''), 'Last-Modified': stats.mtime.toUTCString() }
    const all = { ...headers, ...tags, 'Accept-Ranges': 'bytes' }
    if (isKnown(request, tags)) return void response.writeHead(304, all).end()
    const isPart = request.method === 'GET' && isStill(request.headers['if-range'], tags)
    const range = isPart ? rangeOf(request.headers.range, stats.size) : undefined
    if (range === 'none') {
      const none = { ...all, 'Content-Range': `bytes */${stats.size}`, 'Content-Length': '0' }
      return void response.writeHead(416, none).end()
    }
    const { first, last } = range ?? { first: 0, last: stats.size - 1 }
    const length = last - first + 1
    response.writeHead(range ? 206 : 200, {
      ...all,
      'Content-Length': String(length),
      ...(range && { 'Content-Range': `bytes ${first}-${last}/${stats.size}` }),
    })
    if (request.method === 'HEAD' || length === 0) return void response.end()
    await pipeline(exactly(handle.createReadStream({ start: first, end: last, autoClose: false }), length), response)
  } finally {
    await handle.close()
  }
}

/**
 * Sends HTML in UTF-8, without what a browser must not show. The file is closed, whatever happens.
 * @param frames of `framesOf`
 */
export async function sendTamed(
  { request, response, headers, file, name }: Sending,
  frames: string | undefined,
): Promise<void> {
  const { handle, stats } = file
  try {
    const tags = { ETag: tagOf(file, name, TAMED), 'Last-Modified': stats.mtime.toUTCString() }
    const all = { ...headers, ...tags, 'Accept-Ranges': 'none' }
    if (isKnown(request, tags)) return void response.writeHead(304, all).end()
    response.writeHead(200, all)
    if (request.method === 'HEAD') return void response.end()
    await pipeline(Readable.from(tamedPieces(textOf(file), frames)), response)
  } finally {
    await handle.close()
  }
}

/** A text without what a browser must not show. Others are served between two pieces: a hostile page takes seconds. */
export async function* tamedPieces(
  texts: AsyncIterable<string> | Iterable<string>,
  frames: string | undefined,
): AsyncGenerator<Buffer> {
  const tamed = new TamedHtml(frames)
  for await (const part of texts) yield* inTurn(tamed.push(part))
  yield* inTurn(tamed.end())
}

async function* inTurn(pieces: Iterable<string>): AsyncGenerator<Buffer> {
  for (const piece of pieces) {
    yield Buffer.from(piece)
    await setImmediate()
  }
}

/** A page as text, in parts, whatever its encoding. */
export async function* textOf({ handle }: OpenFile): AsyncGenerator<string> {
  const bytes = handle.createReadStream({ start: 0, autoClose: false, highWaterMark: HEAD_BYTES })
  let decoder: ReturnType<typeof pageDecoder> | undefined
  for await (const part of bytes as AsyncIterable<Buffer>) {
    decoder ??= pageDecoder(part, part.length < HEAD_BYTES)
    yield decoder.decode(part, { stream: true })
  }
  yield decoder?.decode() ?? ''
}

/** A file that became shorter meanwhile is an error: the reader must not wait for the rest. */
async function* exactly(bytes: AsyncIterable<Buffer>, length: number): AsyncGenerator<Buffer> {
  let left = length
  for await (const part of bytes) {
    left -= part.length
    yield part
  }
  if (left > 0) throw new Error('the file became shorter')
}

interface Tags {
  readonly ETag: string
  readonly 'Last-Modified': string
}

function tagOf({ stats }: OpenFile, name: string, variant: string): string {
  const what = [stats.size, stats.mtimeMs, stats.ino, name, variant].join('\n')
  return `"${createHash('sha256').update(what).digest('base64url').slice(0, 22)}"`
}

/** Whether the browser has this very file. */
function isKnown({ headers }: IncomingMessage, { ETag, 'Last-Modified': modified }: Tags): boolean {
  const tags = headers['if-none-match']
  if (tags !== undefined) {
    const known = tags.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
    return known.includes('*') || known.includes(ETag)
  }
  const since = Date.parse(headers['if-modified-since'] ?? '')
  return !Number.isNaN(since) && Date.parse(modified) <= since
}

/** Whether a part is requested of the file as it is now. Undefined: of any version. */
function isStill(condition: string | string[] | undefined, { ETag, 'Last-Modified': modified }: Tags): boolean {
  return condition === undefined || condition === ETag || condition === modified
}
