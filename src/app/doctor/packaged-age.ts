import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { createBrotliDecompress } from 'node:zlib'
import { type Finding, green, yellow } from './check.ts'

/** Chromium fixes exploited holes about every other week. After this many months, many are known. */
const OLD_MONTHS = 3
const MONTH_MS = (365.25 / 12) * 86_400_000
/** The time in the header of a file in a tar archive: seconds since 1970, in octal digits. */
const TIME = { from: 136, to: 147 }

/**
 * The time when a packaged browser was built: that of the first library in its archive, since the package itself has
 * none. Undefined without such an archive, or when it is unlike the known ones.
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
 * The finding about the age of a packaged browser.
 * @param what describes the browser
 * @param update the command that installs a newer one
 */
export function aged(what: string, built: Date | undefined, now: Date, update: string): Finding {
  if (!built) return green(what)
  const months = Math.floor((now.getTime() - built.getTime()) / MONTH_MS)
  const said = `${what}, built ${built.toISOString().slice(0, 10)}`
  return months < OLD_MONTHS
    ? green(said)
    : yellow(`${said}: the security holes of ${months} months are unfixed`, update)
}
