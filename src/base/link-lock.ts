import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  statSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs'
import { sleep } from './abort.ts'
import { codeOf } from './errors.ts'

/** The pause between two looks at a lock that is held: short at first, since most are held for moments. */
const FIRST_LOOK_MS = 20
const LONGEST_LOOK_MS = 1_000
/** Removing a dead owner's link takes moments; nobody waits longer for a process that died doing it. */
const CLEARING_MS = 10_000

/**
 * An exclusive lock where kernel locks are unavailable: a symbolic link whose target names its owner (pid and start
 * time), since creating one is atomic and never leaves an unnamed lock. One process at a time removes the link of a
 * dead owner, after looking again. Works among processes that see each other's pids.
 * @param waitMs how long to wait while another has it
 * @param isOver tells that nobody waits any longer
 * @returns the release; undefined: the lock was held all the time, or nobody waits
 */
export async function takeLinkLock(
  path: string,
  waitMs: number,
  isOver: () => boolean = () => false,
): Promise<(() => void) | undefined> {
  const me = identity(process.pid)
  const tryTo = () => {
    try {
      symlinkSync(me, path)
      return () => {
        if (ownerOf(path) === me) unlinkSync(path) // It may have been removed by hand, and be another's now.
      }
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
      return undefined
    }
  }
  return await untilFree(path, waitMs, isOver, tryTo)
}

/** Waits until no living process has the lock; false: one had it for all of `waitMs`. */
export async function noLinkLock(path: string, waitMs: number): Promise<boolean> {
  const isFree = () => ownerOf(path) === undefined || undefined
  return (await untilFree(path, waitMs, () => false, isFree)) === true
}

/** Repeats `attempt` until it returns something. */
async function untilFree<T>(
  path: string,
  waitMs: number,
  isOver: () => boolean,
  attempt: () => T | undefined,
): Promise<T | undefined> {
  const deadline = performance.now() + waitMs
  for (let pause = FIRST_LOOK_MS; !isOver(); ) {
    const done = attempt()
    if (done !== undefined) return done
    if (clearDead(path)) continue
    if (performance.now() >= deadline) return undefined
    await sleep(pause)
    pause = Math.min(pause * 1.5, LONGEST_LOOK_MS)
  }
  return undefined
}

function ownerOf(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

/** `<pid> <start time>`, or only the pid where the start time is unknown. */
function identity(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return `${pid} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}` // Field 22, in clock ticks since boot.
  } catch {
    // There is no /proc, or no such process.
  }
  try {
    // Our environment, passed on. ps writes times in the caller's language and time zone: all must read the same text.
    const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' }
    const started = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return `${pid} ${started.trim()}`
  } catch {
    return String(pid)
  }
}

/** Whether its process is gone, or its pid is somebody else's. False while a live process's start time is unknown. */
function isDead(owner: string | undefined): boolean {
  if (owner === undefined) return false
  const pid = Number.parseInt(owner, 10)
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return true
  }
  const alone = String(pid)
  const now = identity(pid)
  return owner !== alone && now !== alone && now !== owner
}

/**
 * Removes the link of a dead owner, while holding a folder that only one process at a time can create: so between two
 * looks at the link nobody else removes it, and nobody creates another.
 * @returns whether there was such a link
 */
function clearDead(path: string): boolean {
  if (!isDead(ownerOf(path))) return false
  const turn = `${path}.clearing`
  try {
    mkdirSync(turn)
  } catch {
    const since = statSync(turn, { throwIfNoEntry: false })?.mtimeMs
    if (since !== undefined && Date.now() - since > CLEARING_MS) removeLeft(turn)
    return false
  }
  try {
    if (isDead(ownerOf(path))) unlinkSync(path)
  } finally {
    unlessGone(() => rmdirSync(turn))
  }
  return true
}

/**
 * Removes the folder of a process that died here. Of several that try, one moves it: so nobody removes the next one.
 */
function removeLeft(turn: string): void {
  const aside = `${turn}.${process.pid}`
  unlessGone(() => {
    renameSync(turn, aside)
    rmdirSync(aside)
  })
}

function unlessGone(act: () => void): void {
  try {
    act()
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
}
