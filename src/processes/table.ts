import { hasProc, isDead, type ProcEntry, readProc, scanProc } from './proc.ts'

/**
 * Every live process that can be seen. About 10 ms for 200 processes on Linux; elsewhere `ps` takes some 50 ms, and
 * shows no groups and sessions.
 */
export async function processTable(): Promise<ProcEntry[]> {
  return hasProc ? scanProc() : await listByPs()
}

/** One live process; null when there is none, or only a zombie. */
export async function findProcess(pid: number): Promise<ProcEntry | null> {
  if (!hasProc) return (await listByPs()).find((entry) => entry.pid === pid) ?? null
  const entry = readProc(pid)
  return entry && !isDead(entry) ? entry : null
}

/** Is exactly this process still there? */
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
