import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { codeOf } from '../base/errors.ts'
import { memoryPageBytes } from '../base/memory-page.ts'

/** One process as the kernel shows it in /proc/<pid>/stat. */
export interface ProcEntry {
  readonly pid: number
  readonly ppid: number
  readonly pgid: number
  readonly session: number
  readonly state: string
  /** Start time in clock ticks since boot (field 22): with the pid and the boot, it identifies one process for ever. */
  readonly startTicks: number
  readonly rssBytes: number
}

/** Whether there is a /proc to read. Tests deny it, to see how the program works elsewhere: then nothing reads it. */
export const hasProc: boolean = process.platform === 'linux' && process.env['ARCHIVEBOX_NO_PROC'] === undefined

const EXHAUSTED = new Set(['EMFILE', 'ENFILE', 'ENOMEM'])

/**
 * What can be read, or `nothing`. Throws when we are out of descriptors or memory: then we see nothing, which does not
 * mean that nothing is there.
 */
export function orNothing<T>(read: () => T, nothing: T): T {
  try {
    return read()
  } catch (error) {
    if (EXHAUSTED.has(codeOf(error) ?? '')) throw error
    return nothing
  }
}

/** Reads one process; null when there is none. A zombie is reported as it is: state Z. */
export function readProc(pid: number): ProcEntry | null {
  const stat = hasProc ? orNothing(() => readFileSync(`/proc/${pid}/stat`, 'latin1'), null) : null
  if (stat === null) return null
  // The name in parentheses may contain spaces and parentheses itself: the fields start after the last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const at = (field: number) => Number(fields[field - 3])
  return {
    pid,
    state: fields[0] ?? '?',
    ppid: at(4),
    pgid: at(5),
    session: at(6),
    startTicks: at(22),
    rssBytes: at(24) * memoryPageBytes(),
  }
}

/** Every process that can be seen and is not a zombie. About 10 ms for 200 processes. */
export function scanProc(): ProcEntry[] {
  const entries: ProcEntry[] = []
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const entry = readProc(Number(name))
    if (entry && !isDead(entry)) entries.push(entry)
  }
  return entries
}

/** Zombies and processes that are being torn down run no more code. */
export function isDead(entry: ProcEntry): boolean {
  return entry.state === 'Z' || entry.state === 'X'
}

/** The environment a process was started with; empty when it may not be read (another user's) or is gone. */
export function readEnviron(pid: number): string[] {
  return hasProc ? orNothing(() => readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0'), []) : []
}

let boot: string | undefined
/** The id of this boot: a process of another boot is gone, whatever its pid. */
export function bootId(): string {
  boot ??= hasProc ? readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim() : 'no-proc'
  return boot
}

let namespace: string | undefined
/** The PID namespace that we live in: pids of another one mean nothing here. */
export function pidNamespace(): string {
  namespace ??= hasProc ? readlinkSync('/proc/self/ns/pid') : 'no-proc'
  return namespace
}
