import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { codeOf } from '../../src/base/errors.ts'
import { eventually } from './program.ts'

/** One live process, as seen from outside. */
export interface Seen {
  readonly pid: number
  readonly ppid: number
  readonly command: string
  readonly environ: readonly string[]
}

export interface Placed extends Seen {
  readonly cwd: string
}

/** Every live process (no zombies) except ourselves. */
export function allProcesses(): Placed[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
  return pids.flatMap((pid) => look(pid) ?? [])
}

/** The processes that refer to a directory: in their environment, command line or working directory. */
export function processesOf(dir: string, all: readonly Placed[] = allProcesses()): Seen[] {
  return all.filter(
    ({ cwd, command, environ }) => cwd === dir || `${cwd}/${command}\0${environ.join('\0')}`.includes(dir),
  )
}

/** The zombies on this machine, and their parents. */
export function zombiesIn(): { pid: number; ppid: number }[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      const [state, ppid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return state === 'Z' ? [{ pid: Number(name), ppid: Number(ppid) }] : []
    } catch {
      return []
    }
  })
}

/** Whether this process exists, and is not a zombie. */
export function isThere(pid: number): boolean {
  return look(String(pid)) !== undefined
}

function look(pid: string): Placed | undefined {
  const file = (what: string) => readFileSync(`/proc/${pid}/${what}`, 'utf8')
  try {
    const stat = file('stat')
    const [state, ppid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (state === 'Z' || state === 'X') return undefined
    const cwd = readlinkSync(`/proc/${pid}/cwd`)
    return {
      pid: Number(pid),
      ppid: Number(ppid),
      cwd,
      command: file('cmdline').replaceAll('\0', ' ').trim(),
      environ: file('environ').split('\0'),
    }
  } catch {
    return undefined // Gone, a kernel thread, or not visible to us.
  }
}

/** Stops a process (SIGSTOP). False when it ended before it stopped. */
export async function bringToStand(pid: number): Promise<boolean> {
  for (;;) {
    try {
      process.kill(pid, 'SIGSTOP')
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
      const state = stat.slice(stat.lastIndexOf(')') + 2)[0]
      if (state === 'Z' || state === 'X') return false
      if (state === 'T') return true
    } catch {
      return false // Reaped.
    }
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

/** Lets a stopped process go on (SIGCONT), unless it was killed meanwhile. */
export function letGoOn(pid: number): void {
  try {
    process.kill(pid, 'SIGCONT')
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error
  }
}

/**
 * Ends exactly these processes. A PostgreSQL server is told to shut down immediately, since one that is killed leaves
 * its shared memory until it starts again.
 */
export function killAll(processes: readonly Seen[]): void {
  for (const { pid, command } of processes) {
    const signals = / -D \S+\/postgres$/.test(command) ? (['SIGQUIT', 'SIGCONT'] as const) : (['SIGKILL'] as const)
    try {
      for (const signal of signals) process.kill(pid, signal)
    } catch {
      // Already gone.
    }
  }
}

/** Gives the processes that refer to a directory time to exit, then ends the remaining ones. @returns those */
export async function endLeft(dir: string): Promise<Seen[]> {
  await eventually(() => processesOf(dir).length === 0, 30_000).catch(() => {})
  const left = processesOf(dir)
  killAll(left)
  return left
}

/** The private folders in /tmp that lead to sockets below `dir`. */
export function shortWaysTo(dir: string): string[] {
  return readdirSync('/tmp').filter((name) => {
    if (!/^archivebox-ts-[0-9a-f]{16}$/.test(name)) return false
    try {
      return readlinkSync(`/tmp/${name}/socket`).startsWith(dir)
    } catch {
      return false
    }
  })
}
