import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { createBrotliDecompress } from 'node:zlib'
import { type Finding, green, yellow } from './check.ts'

/** Chromium mends holes that are in use about every other week. After so many months many are known. */
const OLD_MONTHS = 3
const MONTH_MS = (365.25 / 12) * 86_400_000
/** In the header of a file in a tar archive: seconds since 1970, in octal digits. */
const TIME = { from: 136, to: 147 }

/**
 * The time at which a packaged browser was built: that of the first library in its archive, since a package itself has
 * none. Undefined when there is no such archive, or it is unlike those that we know.
 * @param files the folder `bin` of the package
 */
export async function builtAt(files: string): Promise<Date | undefined> {
  const archive = createReadStream(join(files, 'swiftshader.tar.br'), { end: 256 * 1024 })
  const plain = archive.on('error', (error) => plain.destroy(error)).pipe(createBrotliDecompress())
  try {
    for await (const piece of plain as AsyncIterable<Buffer>) {
      const seconds = Number.parseInt(piece.toString('latin1', TIME.from, TIME.to), 8)
      return seconds > 0 ? new Date(seconds * 1000) : undefined
    }
  } catch {
    // Another package, or none.
  } finally {
    archive.destroy()
  }
  return undefined
}

/**
 * What there is to be said about the age of a packaged browser.
 * @param what it is, in words
 * @param update the command that brings a newer one
 */
export function aged(what: string, built: Date | undefined, now: Date, update: string): Finding {
  if (!built) return green(what)
  const months = Math.floor((now.getTime() - built.getTime()) / MONTH_MS)
  const said = `${what}, built ${built.toISOString().slice(0, 10)}`
  return months < OLD_MONTHS
    ? green(said)
    : yellow(`${said}: ${months} months of holes in Chromium are known since then`, update)
}
