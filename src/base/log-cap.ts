import { constants, createWriteStream } from 'node:fs'
import { type FileHandle, lstat, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { codeOf } from './errors.ts'
import { MAX_LOG_BYTES } from './log.ts'

/** Truncates each log of a data dir above 10 MB; its end is kept as `<log>.1`, replacing the previous one. */
export async function capLogs(dataDir: string): Promise<void> {
  const folder = join(dataDir, 'logs')
  if (await isForeignLink(folder)) return
  const names = await readdir(folder).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  })
  for (const name of names) if (name.endsWith('.log')) await capLog(join(folder, name))
}

/** A user whom root trusts less may have made it point to other logs. */
async function isForeignLink(folder: string): Promise<boolean> {
  const there = await lstat(folder).catch(() => undefined)
  return process.geteuid?.() === 0 && there !== undefined && there.isSymbolicLink() && there.uid !== 0
}

/**
 * Truncates in place: running programs, above all the database server, hold the file open. All of them append, so they
 * continue at its new end; what is written between copy and truncation is lost.
 */
async function capLog(file: string): Promise<void> {
  let log: FileHandle
  try {
    // Never through a link, for the same reason.
    log = await open(file, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if (['ENOENT', 'ELOOP', 'EACCES', 'ENXIO', 'EISDIR'].includes(codeOf(error) ?? '')) return
    throw error
  }
  const aside = `${file}.1.${process.pid}`
  try {
    const before = await log.stat()
    if (!before.isFile() || before.size <= MAX_LOG_BYTES) return
    const start = before.size - MAX_LOG_BYTES
    const end = log.createReadStream({ start, end: before.size - 1, autoClose: false })
    await pipeline(end, createWriteStream(aside, { flags: 'wx', mode: 0o600 }))
    await rename(aside, `${file}.1`)
    await log.truncate(0)
  } finally {
    await log.close()
    await rm(aside, { force: true })
  }
}
