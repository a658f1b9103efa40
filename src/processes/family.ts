import { sleep } from '../base/abort.ts'
import { hasProc, isDead, type ProcEntry, readEnviron, readProc, scanProc } from './proc.ts'

/** Environment variables that every process below a runner carries, so that a sweep finds it whoever its parent is by now. */
export const MARKER = {
  process: 'ARCHIVEBOX_PROCESS_ID',
  runner: 'ARCHIVEBOX_RUNNER_ID',
  /** Carried by a runner's watchdog alone, in place of the others. */
  watchdog: 'ARCHIVEBOX_WATCHDOG_OF',
} as const

/**
 * What belongs together: the processes below `roots`, in their groups and sessions, or carrying one of the markers (`NAME=value`).
 * A root counts only while exactly that process lives: its pid may be somebody else's by now. Markers find the rest.
 */
export interface Family {
  readonly roots?: readonly { readonly pid: number; readonly startTicks: number }[]
  /** The roots led sessions of their own and have only just ended: what is left in those sessions is theirs, since a pid is not given again while it names one. */
  readonly sessions?: boolean
  readonly markers?: readonly string[]
}

/** The live members of a family, ourselves never among them. */
export function membersOf(family: Family): ProcEntry[] {
  if (!hasProc) return []
  const all = scanProc()
  const roots = new Set<number>()
  for (const root of family.roots ?? []) {
    const now = all.find(({ pid }) => pid === root.pid)
    const left = family.sessions && !now && all.some((entry) => entry.session === root.pid && entry.startTicks >= root.startTicks)
    if (now?.startTicks === root.startTicks || left) roots.add(root.pid)
  }
  const markers = new Set(family.markers)
  const inside = new Set<number>()
  for (const entry of all) {
    const byGroup = roots.has(entry.pid) || roots.has(entry.pgid) || roots.has(entry.session)
    if (byGroup || (markers.size > 0 && readEnviron(entry.pid).some((line) => markers.has(line)))) inside.add(entry.pid)
  }
  // Children of members are members: repeat until a round finds no more.
  for (let grew = true; grew; ) {
    grew = false
    for (const entry of all) {
      if (!inside.has(entry.pid) && inside.has(entry.ppid)) {
        inside.add(entry.pid)
        grew = true
      }
    }
  }
  inside.delete(process.pid)
  return all.filter((entry) => inside.has(entry.pid))
}

/** Signals the members that are still the ones we saw. Returns how many it reached. */
export function signalMembers(members: readonly ProcEntry[], signal: NodeJS.Signals): number {
  let reached = 0
  for (const member of members) {
    if (readProc(member.pid)?.startTicks !== member.startTicks) continue
    try {
      process.kill(member.pid, signal)
      reached += 1
    } catch {
      // Gone in between, or another user's.
    }
  }
  return reached
}

/**
 * Kills a family for good: stop it so that it cannot fork away, look again, kill, and verify, until two scans in a row find nobody.
 * @returns the pids that are still there at the deadline (uninterruptible, or another user's); empty is success
 */
export async function killFamily(family: Family, deadlineMs = 5_000): Promise<number[]> {
  if (!hasProc) return await killWithoutProc(family)
  const end = performance.now() + deadlineMs
  let empty = 0
  for (;;) {
    const members = membersOf(family)
    empty = members.length === 0 ? empty + 1 : 0
    if (empty === 2) return []
    if (performance.now() > end) return members.map(({ pid }) => pid)
    signalMembers(members, 'SIGSTOP')
    signalMembers(membersOf(family), 'SIGKILL')
    for (const member of members) {
      while (performance.now() < end && isAlive(member)) await sleep(2)
    }
  }
}

function isAlive(member: ProcEntry): boolean {
  const now = readProc(member.pid)
  return now !== null && now.startTicks === member.startTicks && !isDead(now)
}

/** Where there is no /proc: the group first, then the tree as `ps` shows it. Markers cannot be read there. */
async function killWithoutProc(family: Family): Promise<number[]> {
  const { default: treeKill } = await import('tree-kill')
  for (const { pid } of family.roots ?? []) {
    await new Promise<void>((resolve) => treeKill(pid, 'SIGKILL', () => resolve()))
    try {
      process.kill(-pid, 'SIGKILL')
    } catch {
      // No such group: everybody is gone.
    }
  }
  return []
}
