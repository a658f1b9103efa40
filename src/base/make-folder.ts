import { accessSync, constants, mkdirSync, readlinkSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { codeOf, messageOf } from './errors.ts'

/** File systems that the kernel generates (statfs(2)): a folder of ours cannot be stored there. */
const MADE_UP: ReadonlyMap<number, string> = new Map([
  [0x9fa0, 'proc'],
  [0x62656572, 'sysfs'],
  [0x63677270, 'cgroup2'],
  [0x1cd1, 'devpts'],
])

/**
 * Creates a folder and its missing parents. Node's own recursive mkdir never ends below a folder that takes no other
 * (/proc): the answer is "no such file", so Node creates the folder above, which exists, and tries again.
 * @returns the topmost folder that was created; undefined when all existed
 */
export function makeFolder(path: string): string | undefined {
  if (isFolder(path)) return undefined
  const above = makeFolder(dirname(path))
  try {
    mkdirSync(path)
  } catch (error) {
    if (codeOf(error) === 'EEXIST' && isFolder(path)) return above // Another process was creating it, too.
    throw error
  }
  return above ?? path
}

/** Why no files can be kept in this folder, which need not exist yet; undefined: no reason. */
export function whyUnusable(path: string): string | undefined {
  let folder = path
  try {
    folder = nearest(path)
    const found = statSync(folder, { throwIfNoEntry: false })
    if (!found) return `${folder} is a symbolic link to ${linkAt(folder)}, which does not exist`
    if (!found.isDirectory()) return `${folder} is not a directory`
    const strange = process.platform === 'linux' ? MADE_UP.get(statfsSync(folder).type) : undefined
    if (strange) return `${path}: no files can be kept in a ${strange} file system`
    accessSync(folder, constants.W_OK)
    return undefined
  } catch (error) {
    return `${folder} is not writable: ${messageOf(error)}`
  }
}

/** The path itself if it exists, else its nearest existing ancestor: that may be a link to nothing. */
function nearest(path: string): string {
  const isThere = dirname(path) === path || statSync(path, { throwIfNoEntry: false }) || linkAt(path) !== undefined
  return isThere ? path : nearest(dirname(path))
}

/** Where a symbolic link leads; undefined: it is none. */
function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

function isFolder(path: string): boolean {
  return dirname(path) === path || statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
