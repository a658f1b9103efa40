import { fstatSync, ftruncateSync, readFileSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from './errors.ts'
import { FileLock } from './file-lock.ts'
import { uuidv7 } from './ids.ts'

/** The file with the id; without it a data dir gets a new one. */
export const ID_FILE = '.archivebox-id'

/**
 * Identifies a data dir, whatever path, container or machine it is seen from, by an id in a file. The file also records
 * its own inode: this tells a copy (`cp -a`, a restored backup), which gets a new id, from the original that was moved
 * or mounted elsewhere.
 * @param dataDir an existing, writable data dir
 * @param whenCopied called for a copy while no other process can open it; called again by the next process if it fails
 */
export async function dataDirId(dataDir: string, whenCopied: () => void): Promise<string> {
  const path = join(dataDir, ID_FILE)
  const known = knownDataDirId(dataDir)
  if (known !== undefined) return known
  const lock = new FileLock(path)
  try {
    await lock.exclusive() // Several processes may find none at once: one writes, the others read.
    const now = read(path)
    if (now?.own) return now.id
    if (now) whenCopied()
    const id = uuidv7()
    ftruncateSync(lock.fd)
    writeSync(lock.fd, `${id} ${fstatSync(lock.fd).ino}\n`)
    return id
  } finally {
    lock.release()
  }
}

/** The id of a data dir that has one; undefined for a copy, too. */
export function knownDataDirId(dataDir: string): string | undefined {
  const known = read(join(dataDir, ID_FILE))
  return known?.own ? known.id : undefined
}

/** The id in the file, and whether the file is the original; undefined when there is none yet. */
function read(path: string): { id: string; own: boolean } | undefined {
  try {
    const match = /^([0-9a-f-]{36}) (\d+)\n$/.exec(readFileSync(path, 'utf8'))
    return match ? { id: match[1]!, own: Number(match[2]) === statSync(path).ino } : undefined
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}
