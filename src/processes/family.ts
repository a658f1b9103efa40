import { sleep } from '../base/abort.ts'
import { codeOf } from '../base/errors.ts'
import { killCgroup, pidsIn, removeCgroup } from './containment/cgroup.ts'
import type { ProcessIdentity } from './identity.ts'
import { bootId, hasProc, type ProcEntry, pidNamespace } from './proc.ts'
import { findProcess, isSame, look } from './table.ts'

/**
 * What belongs together: the processes below `roots`, in their groups and sessions, those that carry one of the markers
 * (`NAME=value`), and those in the control groups. A root counts only while exactly that process lives: its pid may be
 * somebody else's by now.
 */
export interface Family {
  readonly roots?: readonly ProcessIdentity[]
  /**
   * The roots led their own sessions and have only just ended: what is left in those sessions is theirs, since a pid is
   * not reused while it names one.
   */
  readonly sessions?: boolean
  readonly markers?: readonly string[]
  /** Removed when they are empty. A family of control groups only is all in there: nothing else is searched. */
  readonly cgroups?: readonly string[]
}

/** The live members of a family, ourselves and the init process never among them. */
export async function membersOf(family: Family): Promise<ProcEntry[]> {
  const inGroups = (family.cgroups ?? []).flatMap(pidsIn)
  if (isInCgroups(family)) return (await Promise.all(inGroups.map(findProcess))).filter((entry) => entry !== null)
  const { all, environ } = await look()
  const roots = liveRoots(family, all)
  const markers = new Set(family.markers)
  const inside = new Set(inGroups)
  for (const entry of all) {
    const byGroup = roots.has(entry.pid) || roots.has(entry.pgid) || roots.has(entry.session)
    if (byGroup || (markers.size > 0 && environ(entry.pid).some((line) => markers.has(line)))) inside.add(entry.pid)
  }
  inside.delete(1) // Otherwise every orphan would be its child.
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

/**
 * The pids of the roots that live, or whose session does. A row counts only where it names exactly that process.
 */
function liveRoots({ roots = [], sessions = false }: Family, all: readonly ProcEntry[]): Set<number> {
  const live = new Set<number>()
  for (const root of roots) {
    if (root.pid <= 1 || root.pid === process.pid || root.bootId !== bootId() || root.pidNamespace !== pidNamespace())
      continue
    const now = all.find(({ pid }) => pid === root.pid)
    const left =
      sessions && !now && all.some((entry) => entry.session === root.pid && entry.startTicks >= root.startTicks)
    if (now?.startTicks === root.startTicks || left) live.add(root.pid)
  }
  return live
}

/**
 * Signals the members that are still the ones we saw. SIGCONT follows SIGTERM: a stopped process receives no other.
 * @returns how many it reached
 */
export async function signalMembers(members: readonly ProcEntry[], signal: NodeJS.Signals): Promise<number> {
  let reached = 0
  for (const member of members) {
    if (!(await isSame(member))) continue
    try {
      process.kill(member.pid, signal)
      reached += 1
    } catch {
      // Gone in between, or another user's.
    }
  }
  if (signal === 'SIGTERM') await signalMembers(members, 'SIGCONT')
  return reached
}

/** How long what was killed may take to be gone. */
const KILL_MS = 5_000
/** The same for processes that cannot be ended, as far as we know. */
const HOPELESS_MS = 200

/**
 * Kills a family for good: stop it so that it cannot fork away, look again, kill, and verify, until two scans in a row
 * find nobody, or its control groups are empty and gone.
 * @param options.stuck pids that survived before: nobody waits for them again
 * @returns those that are still there at the deadline (in uninterruptible sleep), or before it where we may not signal
 *   them (another user's); empty is success
 */
export async function killFamily(
  family: Family,
  { deadlineMs = KILL_MS, stuck = [] }: { readonly deadlineMs?: number; readonly stuck?: readonly number[] } = {},
): Promise<ProcEntry[]> {
  return await untilGone(family, deadlineMs, stuck, 2)
}

/**
 * The same for what an ended process left behind: mostly nothing, and then one scan is enough. Each scan reads all of
 * /proc, and every hook ends like this.
 */
export async function killLeftovers(family: Family): Promise<ProcEntry[]> {
  return await untilGone(family, KILL_MS, [], 1)
}

/** @param scans how many in a row must find nobody, when none has found anybody yet */
async function untilGone(
  family: Family,
  deadlineMs: number,
  stuck: readonly number[],
  scans: number,
): Promise<ProcEntry[]> {
  const end = performance.now() + deadlineMs
  const cgroups = family.cgroups ?? []
  const hopeless: ProcEntry[] = []
  for (let empty = 0, enough = scans; ; ) {
    const members = await membersOf(family)
    const isOver = performance.now() > end
    if (members.length === 0) {
      empty += 1
      const removed = cgroups.map(removeCgroup).every(Boolean)
      const isProved = removed && (empty >= enough || isInCgroups(family))
      // A process that was known by a parent that has ended is in no family any more.
      if (isProved || isOver) return await theSame(hopeless)
      if (!removed) await sleep(1)
      for (const cgroup of cgroups) killCgroup(cgroup)
      continue
    }
    enough = 2
    empty = 0
    if (isOver || members.every((member) => hopeless.some((one) => areSame(one, member)))) return members
    const doomed = await killMembers(family, members)
    const hopelessUntil = Math.min(end, performance.now() + HOPELESS_MS)
    for (const member of doomed) {
      const isHopeless = stuck.includes(member.pid) || !mayBeSignalled(member)
      const until = isHopeless ? hopelessUntil : end
      while (performance.now() < until && (await isSame(member))) await sleep(2)
      if (isHopeless) hopeless.push(...(await theSame([member])))
    }
  }
}

/** @returns what it has killed, including processes that had forked away meanwhile */
async function killMembers(family: Family, members: readonly ProcEntry[]): Promise<readonly ProcEntry[]> {
  // Before any of them ends: a member that waits for another must not record that end as an ordinary one.
  if (hasProc && !isInCgroups(family)) await signalMembers(members, 'SIGSTOP')
  for (const cgroup of family.cgroups ?? []) killCgroup(cgroup)
  if (!hasProc) await killTrees(members)
  if (!hasProc || isInCgroups(family)) return members
  const now = await membersOf(family)
  await signalMembers(now, 'SIGKILL')
  return now
}

const areSame = (a: ProcEntry, b: ProcEntry) => a.pid === b.pid && a.startTicks === b.startTicks

async function theSame(members: readonly ProcEntry[]): Promise<ProcEntry[]> {
  const same: ProcEntry[] = []
  for (const member of members) if (await isSame(member)) same.push(member)
  return same
}

/** Whether we may signal this process. Also true when there is none. */
export function mayBeSignalled({ pid }: Pick<ProcEntry, 'pid'>): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) !== 'EPERM'
  }
}

function isInCgroups({ roots = [], markers = [], cgroups = [] }: Family): boolean {
  return cgroups.length > 0 && roots.length === 0 && markers.length === 0
}

/**
 * Where only `ps` tells which processes exist, a member can fork faster than `ps` can be asked about each: so each tree
 * is killed at once.
 */
async function killTrees(members: readonly ProcEntry[]): Promise<void> {
  const { default: treeKill } = await import('tree-kill')
  for (const root of members.filter(({ ppid }) => !members.some(({ pid }) => pid === ppid))) {
    if (await isSame(root)) await new Promise<void>((resolve) => treeKill(root.pid, 'SIGKILL', () => resolve()))
  }
}
