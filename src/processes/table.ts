import { setImmediate as turn } from 'node:timers/promises'
import { hasProc, isDead, type ProcEntry, readEnviron, readProc, scanProc } from './proc.ts'

/**
 * Every live process that can be seen. About 10 ms for 200 processes on Linux; elsewhere `ps` takes some 50 ms, and
 * shows no groups and sessions.
 */
async function processTable(): Promise<ProcEntry[]> {
  return hasProc ? scanProc() : await listByPs()
}

/** Every live process at one moment, with the environment that each was started with. */
export interface Look {
  readonly all: readonly ProcEntry[]
  readonly environ: (pid: number) => readonly string[]
}

let next: Promise<Look> | undefined

/** One look for all callers at the same time. It begins after the last of them has called. */
export function look(): Promise<Look> {
  next ??= turn().then(async () => {
    next = undefined
    const all = await processTable()
    const known = new Map<number, string[]>()
    const environ = (pid: number) => {
      const lines = known.get(pid) ?? readEnviron(pid)
      known.set(pid, lines)
      return lines
    }
    return { all, environ }
  })
  return next
}

/** One live process; null when there is none, or only a zombie. */
export async function findProcess(pid: number): Promise<ProcEntry | null> {
  if (!hasProc) return (await listByPs()).find((entry) => entry.pid === pid) ?? null
  const entry = readProc(pid)
  return entry && !isDead(entry) ? entry : null
}

/** Whether exactly this process is still there. */
export async function isSame(seen: Pick<ProcEntry, 'pid' | 'startTicks'>): Promise<boolean> {
  return (await findProcess(seen.pid))?.startTicks === seen.startTicks
}

async function listByPs(): Promise<ProcEntry[]> {
  const { default: psList } = await import('ps-list')
  const alive = (await psList()).filter(({ name }) => !name.includes('<defunct>'))
  return alive.map(({ pid, ppid, startTime }) => ({
    pid,
    ppid,
    pgid: 0,
    session: 0,
    state: '?',
    startTicks: startTime?.getTime() ?? 0,
    rssBytes: 0,
  }))
}
