import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from './program.ts'

/**
 * The folder for freezing control groups of version 1: a frozen process sleeps uninterruptibly, and no SIGKILL ends it.
 */
const FREEZER = /^\S+ (\S+) cgroup \S*\bfreezer\b/m.exec(readFileSync('/proc/mounts', 'utf8'))?.[1]

/** Why no process can be frozen here: the reason to skip a test, for its name. False when one can. */
export const noFreezer: string | false =
  FREEZER === undefined || process.getuid?.() !== 0 ? 'needs root and a freezer of control groups, version 1' : false

/** Freezes a process, so that nothing can end it, while `work` runs, or until it thaws the process. */
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
