import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readlinkSync, renameSync, symlinkSync, unlinkSync } from 'node:fs'
import { sleep } from './abort.ts'
import { codeOf } from './errors.ts'

/**
 * An exclusive lock where kernel locks are unavailable: a symbolic link whose target names its owner (pid and start
 * time), since making one is atomic and never leaves an unnamed lock. The link of a dead owner is moved away. Waits up
 * to `waitMs`; returns the release, or undefined when the lock was held all the time. Known limit: two processes that
 * find the same dead owner at the same instant can both continue.
 */
export async function takeLinkLock(path: string, waitMs: number): Promise<(() => void) | undefined> {
  const me = identity(process.pid)
  const deadline = performance.now() + waitMs
  for (;;) {
    try {
      symlinkSync(me, path)
      return () => unlinkSync(path)
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
    const owner = ownerOf(path)
    if (owner !== undefined && identity(Number.parseInt(owner, 10)) !== owner) moveAway(path, owner)
    else if (performance.now() > deadline) return undefined
    else await sleep(20)
  }
}

function ownerOf(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

/** `<pid> <start time>`, or only the pid where there is no ps; `gone` when there is no such process. */
function identity(pid: number): string {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return 'gone'
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

function moveAway(path: string, owner: string): void {
  const aside = `${path}.${randomUUID()}`
  try {
    renameSync(path, aside)
    if (readlinkSync(aside) === owner) unlinkSync(aside)
    // It has changed hands since the check: puts it back.
    else renameSync(aside, path)
  } catch {
    // Somebody else moved it first.
  }
}
