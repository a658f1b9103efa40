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

/** The pauses between two looks at a lock that is held: short at first, since most are held for moments. */
const FIRST_LOOK_MS = 20
const LONGEST_LOOK_MS = 1_000
/** Taking a dead owner's link away needs moments; nobody waits longer for a process that died over it. */
const CLEARING_MS = 10_000

/**
 * An exclusive lock where kernel locks are unavailable: a symbolic link whose target names its owner (pid and start
 * time), since making one is atomic and never leaves an unnamed lock. The link of a dead owner is taken away by one
 * process at a time, which looks again before it does. Works among processes that see each other's pids.
 * @param waitMs how long to wait while another has it
 * @param isOver says that nobody waits any longer
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
        if (ownerOf(path) === me) unlinkSync(path) // Somebody may have taken it away by hand, and another has it.
      }
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
      return undefined
    }
  }
  return await untilFree(path, waitMs, isOver, tryTo)
}

/** Waits until nobody who lives has the lock; false: somebody had it for all of `waitMs`. */
export async function noLinkLock(path: string, waitMs: number): Promise<boolean> {
  const isFree = () => ownerOf(path) === undefined || undefined
  return (await untilFree(path, waitMs, () => false, isFree)) === true
}

/** What `attempt` comes to, once it comes to something. */
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

/** `<pid> <start time>`, or only the pid where nothing tells when it began. */
function identity(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return `${pid} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}` // Field 22, in clock ticks since boot.
  } catch {
    // There is no /proc, or no such process.
  }
  try {
    // Our environment, handed on. ps writes times in the caller's language and time zone: all must read the same text.
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

/** Is its process gone, or its pid somebody else's? Not as long as nothing tells when one that is there began. */
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
 * Takes the link of a dead owner away. Only inside of a folder that one process at a time can make: between two looks
 * at the link nobody else takes it away, and so nobody has made another.
 * @returns whether there was one, of ours to take away
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

/** Removes the folder of one that died over it. Of several who try, one moves it: nobody removes that of a next one. */
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
