import { readlinkSync } from 'node:fs'
import { namesIn, textIn } from '../base/if-readable.ts'

/** A process that listens on a port. */
export interface Holder {
  readonly pid: number
  readonly command: string
}

/** The state of a listening socket, in the kernel's tables. */
const LISTENS = '0A'

/** The processes that listen on a port, as far as we may see them: where there is /proc, those of our own account. */
export function holdersOf(port: number): Holder[] {
  const inodes = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((table) => inodesIn(table, port))
  if (inodes.length === 0) return []
  const links = new Set(inodes.map((inode) => `socket:[${inode}]`))
  return namesIn('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => namesIn(`/proc/${pid}/fd`).some((fd) => links.has(linkOf(`/proc/${pid}/fd/${fd}`))))
    .map((pid) => ({ pid: Number(pid), command: commandOf(pid) }))
}

function inodesIn(table: string, port: number): string[] {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return textIn(table)
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = '', , state]) => local.endsWith(wanted) && state === LISTENS)
    .map((fields) => fields[9] ?? '')
}

function commandOf(pid: string): string {
  return textIn(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim()
}

function linkOf(file: string): string {
  try {
    return readlinkSync(file)
  } catch {
    return ''
  }
}
