import { createReadStream, createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { decoded, textOf } from './decode.ts'
import { formatOf, isSqlite } from './detect.ts'
import type { Found } from './entry.ts'
import { type Format, IMPORTERS } from './formats.ts'
import { history } from './history.ts'
import { withHead } from './with-head.ts'

/** Enough to detect a format. */
const HEAD_BYTES = 65_536

/**
 * Reads the entries of a list, many at a time.
 * @param source the path of a file, or a stream of bytes
 * @param format undefined: detected from its beginning
 * @param tell gets the format, unless it is empty
 */
export async function* readEntries(
  source: string | Readable,
  format: Format | undefined,
  tell: (format: Format) => void = () => {},
): AsyncGenerator<Found[]> {
  const bytes = typeof source === 'string' ? createReadStream(source) : source
  const iterator = bytes[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  const heads: Buffer[] = []
  let size = 0
  for (let next = { done: false } as IteratorResult<Buffer>; size < HEAD_BYTES && !next.done; ) {
    next = await iterator.next()
    if (!next.done) size += heads[heads.push(next.value) - 1]!.length
  }
  const head = Buffer.concat(heads)
  if (head.length === 0) return
  const known = isSqlite(head) ? 'history' : (format ?? formatOf(await textOf(head)))
  tell(known)
  if (known === 'history') {
    if (!isSqlite(head)) throw new Error('not a SQLite database')
    if (typeof source !== 'string') return yield* spooled(withHead(head, iterator))
    bytes.destroy()
    return yield* history(source)
  }
  const importer = await IMPORTERS[known]()
  yield* importer(decoded(withHead(head, iterator)))
}

/** A history that arrives through a pipe: SQLite needs a file. */
async function* spooled(bytes: AsyncIterable<Buffer>): AsyncGenerator<Found[]> {
  const folder = mkdtempSync(join(tmpdir(), 'archivebox-ts-stdin-'))
  try {
    const file = join(folder, 'history.sqlite')
    await pipeline(Readable.from(bytes), createWriteStream(file))
    yield* history(file)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
