import { Readable, type Transform } from 'node:stream'
import { AppError } from '../../base/errors.ts'
import type { Answer } from './answer.ts'
import { parseContentType } from './content-type.ts'

/** More than these are an attack. */
const MOST_ENCODINGS = 5

/** Files that are gzip themselves: many servers declare that as an encoding, too, and browsers do not take it off. */
const IS_GZIP = /^application\/(?:x-)?g(?:un)?zip(?:-compressed)?$/

/** The content encodings of a body, the last one applied first. */
export function encodingsOf({ headers }: Pick<Answer, 'headers'>): string[] {
  const names = (headers['content-encoding'] ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')
  const { mime } = parseContentType(headers['content-type'])
  return names.length === 1 && /^(?:x-)?gzip$/.test(names[0]!) && IS_GZIP.test(mime) ? [] : names.reverse()
}

/**
 * A body behind its content encodings. What breaks off is decoded as far as it came, and then throws. As in browsers, a
 * missing end of a compressed stream is no error.
 */
export async function* decoded(
  raw: AsyncIterable<Buffer>,
  encodings: readonly string[],
): AsyncGenerator<Buffer, void, undefined> {
  if (encodings.length === 0) return yield* raw
  let trouble: unknown
  const untilTrouble = async function* () {
    try {
      yield* raw
    } catch (error) {
      trouble = error
    }
  }
  const decoders = await decodersOf()
  let stream: Readable = Readable.from(untilTrouble())
  for (const name of encodings.slice(0, MOST_ENCODINGS)) {
    const decoder = decoders.get(name)?.()
    if (!decoder) throw new AppError(`unknown content encoding: ${name.slice(0, 40)}`)
    const source = stream
    source.on('error', (error) => decoder.destroy(error))
    stream = source.pipe(decoder)
  }
  for await (const chunk of stream) yield chunk as Buffer
  if (trouble !== undefined) throw trouble
}

async function decodersOf(): Promise<ReadonlyMap<string, () => Transform>> {
  const { constants, ...zlib } = await import('node:zlib')
  const flushing = (mode: number) => ({ flush: mode, finishFlush: mode })
  const gzip = () => zlib.createGunzip(flushing(constants.Z_SYNC_FLUSH))
  return new Map<string, () => Transform>([
    ['gzip', gzip],
    ['x-gzip', gzip],
    ['deflate', () => zlib.createInflate(flushing(constants.Z_SYNC_FLUSH))],
    ['br', () => zlib.createBrotliDecompress(flushing(constants.BROTLI_OPERATION_FLUSH))],
    ['zstd', () => zlib.createZstdDecompress(flushing(constants.ZSTD_e_flush))],
  ])
}
