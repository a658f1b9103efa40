import { constants, existsSync, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '../../base/errors.ts'

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants
const FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW
/** O_NONBLOCK, since opening a pipe would wait. */
const FILE = O_RDONLY | O_NOFOLLOW | O_NONBLOCK
/** Errors for something that is missing, or no regular file of ours: a link, a socket, a device, no permission. */
const NONE = ['ENOENT', 'ENOTDIR', 'ELOOP', 'EMLINK', 'ENXIO', 'ENODEV', 'EOPNOTSUPP', 'EACCES', 'ENAMETOOLONG']
/** Descriptors as folders: each step begins where the one before ended, whatever is renamed meanwhile. */
const DESCRIPTORS = '/proc/self/fd'

export interface OpenFile {
  readonly handle: FileHandle
  readonly stats: Stats
}

/**
 * Opens a regular file step by step, and follows no link.
 * @param root the only one that may be a link: its owner may have moved the folder of all files
 * @param steps none of them empty, `.` or `..`, or with a slash
 * @returns undefined: there is none. The caller closes it
 */
export async function openInside(root: string, steps: readonly string[]): Promise<OpenFile | undefined> {
  try {
    const real = await realpath(root)
    return await (existsSync(DESCRIPTORS) ? openByDescriptors(real, steps) : openChecked(real, steps))
  } catch (error) {
    if (NONE.includes(codeOf(error) ?? '')) return undefined
    throw error
  }
}

/** Whether there is a folder at the end of these steps, without a link on the way. */
export async function isFolderInside(root: string, steps: readonly string[]): Promise<boolean> {
  const path = join(await realpath(root).catch(() => root), ...steps)
  const real = await realpath(path).catch(() => undefined)
  return real === path && (await lstat(path)).isDirectory()
}

async function openByDescriptors(root: string, steps: readonly string[]): Promise<OpenFile | undefined> {
  let folder = await open(root, O_RDONLY | O_DIRECTORY)
  try {
    for (const step of steps.slice(0, -1)) {
      const next = await open(`${DESCRIPTORS}/${folder.fd}/${step}`, FOLDER)
      await folder.close()
      folder = next
    }
    return await regular(await open(`${DESCRIPTORS}/${folder.fd}/${steps.at(-1)}`, FILE))
  } finally {
    await folder.close()
  }
}

/**
 * Where descriptors cannot be used as folders: detects a link on the way before, and one that was added meanwhile
 * after.
 */
export async function openChecked(root: string, steps: readonly string[]): Promise<OpenFile | undefined> {
  const path = join(root, ...steps)
  if ((await realpath(path)) !== path) return undefined
  const opened = await regular(await open(path, FILE))
  if (opened === undefined) return undefined
  const isSame = async () => {
    const { dev, ino } = await lstat(path)
    return dev === opened.stats.dev && ino === opened.stats.ino && (await realpath(path)) === path
  }
  if (await isSame().catch(() => false)) return opened
  await opened.handle.close()
  return undefined
}

async function regular(handle: FileHandle): Promise<OpenFile | undefined> {
  const stats = await handle.stat()
  if (stats.isFile()) return { handle, stats }
  await handle.close()
  return undefined
}
