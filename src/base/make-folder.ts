import { accessSync, constants, mkdirSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { codeOf, messageOf } from './errors.ts'

/** File systems that the kernel provides (statfs(2)): no folder of ours can stay there. */
const MADE_UP: ReadonlyMap<number, string> = new Map([
  [0x9fa0, 'proc'],
  [0x62656572, 'sysfs'],
  [0x63677270, 'cgroup2'],
  [0x1cd1, 'devpts'],
])

/**
 * Makes a folder and what is missing above it. Node's own recursive mkdir never ends below a folder that takes no other
 * (/proc): the answer is "no such file", so Node makes the folder above, which is there, and tries again.
 * @returns the topmost folder that was made; undefined when all were there
 */
export function makeFolder(path: string): string | undefined {
  if (isFolder(path)) return undefined
  const above = makeFolder(dirname(path))
  try {
    mkdirSync(path)
  } catch (error) {
    if (codeOf(error) === 'EEXIST' && isFolder(path)) return above // Another process was making it, too.
    throw error
  }
  return above ?? path
}

/** Why no files can be kept in this folder, which need not exist yet; undefined when nothing speaks against it. */
export function whyUnusable(path: string): string | undefined {
  let folder = path
  try {
    folder = nearest(path)
    if (!statSync(folder).isDirectory()) return `${folder} is not a directory`
    const strange = process.platform === 'linux' ? MADE_UP.get(statfsSync(folder).type) : undefined
    if (strange) return `${path}: no files can be kept in a ${strange} file system`
    accessSync(folder, constants.W_OK)
    return undefined
  } catch (error) {
    return `${folder} is not writable: ${messageOf(error)}`
  }
}

/** The path itself if it exists, else its nearest existing ancestor. */
function nearest(path: string): string {
  return dirname(path) === path || statSync(path, { throwIfNoEntry: false }) ? path : nearest(dirname(path))
}

function isFolder(path: string): boolean {
  return dirname(path) === path || statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
