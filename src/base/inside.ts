import { closeSync, constants, fstatSync, openSync, realpathSync } from 'node:fs'
import { join, relative } from 'node:path'
import { AppError, codeOf } from './errors.ts'
import { leadsOut } from './leads-out.ts'

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants
const NOTHING_THERE = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP']

/**
 * The real path of an untrusted path inside a folder; undefined: nothing exists there. Throws AppError where the path
 * leads out, by its steps or by links.
 * @param folder its real path
 */
export function placeInside(folder: string, path: string): string | undefined {
  const out = () => new AppError(`${path.replaceAll('\0', '\\0')} leads out of ${folder}`)
  if (path.includes('\0') || leadsOut(path)) throw out()
  let real: string
  try {
    real = realpathSync.native(join(folder, path))
  } catch (error) {
    if (NOTHING_THERE.includes(codeOf(error) ?? '')) return undefined
    throw error
  }
  if (leadsOut(relative(folder, real))) throw out()
  return real
}

/**
 * Opens a regular file to read: follows no link, and waits for no pipe. Undefined: it is not one.
 * @returns the descriptor, which the caller closes
 */
export function openFile(path: string): number | undefined {
  let fd: number
  try {
    fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  } catch (error) {
    // A link; a socket, or a missing device.
    if (['ELOOP', 'EMLINK', 'ENXIO', 'EOPNOTSUPP', 'ENODEV'].includes(codeOf(error) ?? '')) return undefined
    throw error
  }
  if (fstatSync(fd).isFile()) return fd
  closeSync(fd)
  return undefined
}
