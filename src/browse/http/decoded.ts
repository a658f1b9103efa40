import { Readable, type Transform } from 'node:stream'
import type { Zlib } from 'node:zlib'
import { AppError } from '../../base/errors.ts'
import type { Answer } from './answer.ts'
import { parseContentType } from './content-type.ts'

/** More are an attack. */
const MOST_ENCODINGS = 5

/** Encodings. Other names (`aws-chunked`, `UTF-8`) say nothing about a body: browsers take it as it is, too. */
const ENCODINGS = new Set('gzip x-gzip deflate br zstd compress x-compress dcb dcz'.split(' '))

/** Files that are themselves gzip: many servers declare that as an encoding, too, and browsers do not decode it. */
const IS_GZIP = /^application\/(?:x-)?g(?:un)?zip(?:-compressed)?$/

/** The content encodings of a body, the last one applied first. */
export function encodingsOf({ headers }: Pick<Answer, 'headers'>): string[] {
  const names = (headers['content-encoding'] ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => ENCODINGS.has(name))
  const { mime } = parseContentType(headers['content-type'])
  return names.length === 1 && /^(?:x-)?gzip$/.test(names[0]!) && IS_GZIP.test(mime) ? [] : names.reverse()
}

/**
 * Decodes a body. If it breaks off, is damaged, or lacks the end of its compressed stream, yields what could be
 * decoded, and then throws.
 */
export async function* decoded(
  raw: AsyncIterable<Buffer>,
  encodings: readonly string[],
): AsyncGenerator<Buffer, void, undefined> {
  if (encodings.length === 0) return yield* raw
  let trouble: unknown
  let isEmpty = true
  const untilTrouble = async function* () {
    try {
      for await (const chunk of raw) {
        isEmpty &&= chunk.length === 0
        yield chunk
      }
    } catch (error) {
      trouble = error
    }
  }
  const damaged = (error: unknown) => {
    if (!isEmpty) trouble ??= error // An empty body needs no end of stream.
  }
  const decoders = await decodersOf()
  let stream: Readable = Readable.from(untilTrouble())
  for (const name of encodings.slice(0, MOST_ENCODINGS)) {
    const decoder = decoders.get(name)?.()
    if (!decoder) throw new AppError(`unsupported content encoding: ${name}`)
    const source = stream
    // Flushed output is kept, even if the end is damaged.
    const end = () => decoder.flush(() => decoder.end())
    source.pipe(decoder, { end: false })
    source.once('end', end)
    decoder.on('error', damaged)
    source.once('error', () => {
      for (const rest of restOf(source)) decoder.write(rest)
      end()
    })
    stream = decoder
  }
  try {
    for await (const chunk of stream) yield chunk as Buffer
  } catch (error) {
    damaged(error)
    yield* restOf(stream)
  }
  if (trouble !== undefined) throw trouble
}

/** The unread rest of a stream that broke off. */
function* restOf(stream: Readable): Generator<Buffer, void> {
  const next = () => stream.read() as Buffer | null
  for (let rest = next(); rest !== null; rest = next()) yield rest
}

type Decoder = Transform & Zlib

async function decodersOf(): Promise<ReadonlyMap<string, () => Decoder>> {
  const { constants, ...zlib } = await import('node:zlib')
  const gzip = () => zlib.createGunzip({ flush: constants.Z_SYNC_FLUSH })
  return new Map<string, () => Decoder>([
    ['gzip', gzip],
    ['x-gzip', gzip],
    ['deflate', () => zlib.createInflate({ flush: constants.Z_SYNC_FLUSH })],
    ['br', () => zlib.createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH })],
    ['zstd', () => zlib.createZstdDecompress({ flush: constants.ZSTD_e_flush })],
  ])
}
