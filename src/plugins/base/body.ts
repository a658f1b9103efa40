import { open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable, Transform } from 'node:stream'
import { AppError } from '../../base/errors.ts'
import type { Answer } from './answer.ts'
import { PART } from './files.ts'
import { explainBody } from './network-errors.ts'
import { type SizeLimit, tooLarge } from './settings.ts'

/**
 * The decoded body of an answer, chunk by chunk. Throws AppError when it exceeds `limit` (also after decompression, and
 * at once when Content-Length says so), breaks off, or cannot be decoded. Ending the iteration early closes the
 * connection.
 */
export async function* chunksOf(answer: Answer, limit: SizeLimit): AsyncGenerator<Buffer, void, undefined> {
  const url = new URL(answer.url)
  try {
    if (Number(answer.headers['content-length']) > limit.bytes) throw tooLarge(limit)
    let size = 0
    for await (const chunk of await decoded(answer)) {
      const bytes = chunk as Buffer
      size += bytes.length
      if (size > limit.bytes) throw tooLarge(limit)
      yield bytes
    }
  } catch (error) {
    throw explainBody(error, url)
  } finally {
    answer.body.destroy()
  }
}

/** Is there nothing in it but white space? */
export function isBlank(bytes: Buffer): boolean {
  return !bytes.some((byte) => byte > 0x20)
}

/** The whole decoded body in memory. */
export async function readBody(answer: Answer, limit: SizeLimit): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const chunk of chunksOf(answer, limit)) parts.push(chunk)
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
}

/** Streams chunks into `dir`/`name`, which appears only when it is complete. @returns its size in bytes */
export async function saveChunks(chunks: AsyncIterable<Buffer>, dir: string, name: string): Promise<number> {
  const part = join(dir, PART)
  let size = 0
  try {
    const file = await open(part, 'w')
    try {
      for await (const chunk of chunks) {
        await file.writeFile(chunk)
        size += chunk.length
      }
    } finally {
      await file.close()
    }
    await rename(part, join(dir, name))
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
  return size
}

/** The body behind its content encodings (the last one applied comes off first). */
async function decoded(answer: Answer): Promise<Readable> {
  const encodings = (answer.headers['content-encoding'] ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')
  if (encodings.length === 0) return answer.body
  const zlib = await import('node:zlib')
  // As browsers do: a missing gzip trailer is no error. (A connection that breaks off is: its error goes down the
  // pipe.)
  const lenient = { flush: zlib.constants.Z_SYNC_FLUSH, finishFlush: zlib.constants.Z_SYNC_FLUSH }
  const decoders = new Map<string, () => Transform>(
    Object.entries({
      gzip: () => zlib.createGunzip(lenient),
      'x-gzip': () => zlib.createGunzip(lenient),
      deflate: () => zlib.createInflate(lenient),
      br: () => zlib.createBrotliDecompress(),
      zstd: () => zlib.createZstdDecompress(),
    }),
  )
  let stream: Readable = answer.body
  for (const name of encodings.reverse().slice(0, 5)) {
    const decoder = decoders.get(name)?.()
    if (!decoder) throw new AppError(`unknown content encoding: ${name.slice(0, 40)}`)
    const source = stream
    source.on('error', (error) => decoder.destroy(error))
    stream = source.pipe(decoder)
  }
  return stream
}
