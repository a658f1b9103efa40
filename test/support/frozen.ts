import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from './program.ts'

/** Where control groups of version 1 are frozen: a process in one sleeps uninterruptibly, and no SIGKILL ends it. */
const FREEZER = /^\S+ (\S+) cgroup \S*\bfreezer\b/m.exec(readFileSync('/proc/mounts', 'utf8'))?.[1]

/** Why no process can be frozen like that here: the reason to skip a test, for its name. False when it can. */
export const noFreezer: string | false =
  FREEZER === undefined || process.getuid?.() !== 0 ? 'needs root and a freezer of control groups, version 1' : false

/** Freezes a process, so that nobody can end it, for as long as `work` takes, or until it lets the process go on. */
export async function whileFrozen(pid: number, work: (thaw: () => Promise<void>) => Promise<void>): Promise<void> {
  const thaw = freeze(pid)
  try {
    await work(thaw)
  } finally {
    await thaw()
  }
}

function freeze(pid: number): () => Promise<void> {
  const group = join(FREEZER!, `archivebox-ts-test-${process.pid}-${pid}`)
  mkdirSync(group)
  writeFileSync(join(group, 'cgroup.procs'), String(pid))
  writeFileSync(join(group, 'freezer.state'), 'FROZEN')
  return async () => {
    if (!existsSync(group)) return
    writeFileSync(join(group, 'freezer.state'), 'THAWED')
    await eventually(() => {
      for (const member of readFileSync(join(group, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean))
        writeFileSync(join(FREEZER!, 'cgroup.procs'), member)
      try {
        rmdirSync(group)
        return true
      } catch {
        return false
      }
    })
  }
}
