import { createReadStream } from 'node:fs'
import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdDecompress } from 'node:zlib'
import { AppError } from '../../base/errors.ts'
import { own } from '../../base/own.ts'
import { type BackupFile, inspectBackup } from './backup-file.ts'
import { CopyText } from './copy-text.ts'

const LINE_END = 10

/**
 * Reads all of a backup as a restore would: its checksum, its compression, and the rows of each table. Throws AppError
 * when it is not whole.
 */
export async function checkBackup(path: string, stop: AbortSignal): Promise<BackupFile> {
  const backup = await inspectBackup(path)
  const { header, trailer, body } = backup
  const chunks = new PassThrough()
  const file = createReadStream(path, { start: body.start, end: body.end - 1, highWaterMark: 1_048_576 })
  const reading = pipeline(file, createZstdDecompress(), chunks, { signal: stop })
  reading.catch(() => {}) // Thrown where the chunks are read.
  try {
    const text = new CopyText(chunks)
    for (const { name } of header.tables) {
      const found = await text.table()
      const rows = found === name ? await linesOf(text.rows()) : 0
      if (rows !== own(trailer.rows, name))
        throw new AppError(`${path} does not contain what it claims: ${rows} rows of ${name}`)
    }
    await reading
  } finally {
    chunks.destroy()
  }
  return backup
}

/** In COPY's text a line end within a value is escaped: each ends a row. */
async function linesOf(rows: AsyncIterable<Buffer>): Promise<number> {
  let count = 0
  for await (const piece of rows)
    for (let at = piece.indexOf(LINE_END); at >= 0; at = piece.indexOf(LINE_END, at + 1)) count += 1
  return count
}
