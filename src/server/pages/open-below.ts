import { closeSync, readlinkSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../../base/errors.ts'
import { openFile } from '../../base/inside.ts'
import { leadsOut } from '../../base/leads-out.ts'

/** A file that is open for reading. */
export interface Opened {
  readonly fd: number
  /** Its real path. */
  readonly file: string
}

/**
 * Opens a file of a page. Only the first step, the folder of all files, may be a link: its owner may have moved it.
 * @param folder of the page, relative to the data dir
 * @param path relative to that
 * @returns undefined: there is no such file, or a link leads to it. The caller closes what is open
 */
export function openBelow(dataDir: string, folder: string, path: string): Opened | undefined {
  if (leadsOut(folder) || leadsOut(path)) return undefined
  const steps = join(folder, path).split('/')
  let fd: number | undefined
  try {
    const file = join(realpathSync.native(join(dataDir, steps[0]!)), ...steps.slice(1))
    fd = openFile(file)
    if (fd === undefined) return undefined
    // A link on the way would have led elsewhere.
    if (readlinkSync(`/proc/self/fd/${fd}`) === file) return { fd, file }
  } catch (error) {
    if (!['ENOENT', 'ENOTDIR', 'EACCES', 'ENAMETOOLONG'].includes(codeOf(error) ?? '')) throw error
  }
  if (fd !== undefined) closeSync(fd)
  return undefined
}
