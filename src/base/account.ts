import { readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** A user of this machine. */
export interface Account {
  readonly uid: number
  readonly gid: number
  readonly name: string
}

/** The users in /etc/passwd, by name. */
export function accounts(): ReadonlyMap<string, Account> {
  const found = new Map<string, Account>()
  for (const line of readFileSync('/etc/passwd', 'utf8').split('\n')) {
    const [name, , uid, gid] = line.split(':')
    // macOS writes nobody as -2.
    if (name && uid && gid) found.set(name, { name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 })
  }
  return found
}

/**
 * Whether `account` may enter every directory on the way to `path`, and use it with `need` (mode bits: 4 read, 2 write,
 * 1 enter).
 */
export function canReach(path: string, account: Account | undefined, need: number): boolean {
  if (!account) return true
  const real = realpathSync(path)
  return allows(real, account, need) && closedAbove(real, account) === undefined
}

/** The topmost folder above an existing real path that `account` may not enter. */
export function closedAbove(real: string, account: Account): string | undefined {
  const above = dirname(real)
  if (above === real) return undefined
  return closedAbove(above, account) ?? (allows(above, account, 1) ? undefined : above)
}

/** Whether the mode of a file or folder gives an account these rights. */
export function allows(path: string, account: Account, need: number): boolean {
  const { uid, gid, mode } = statSync(path)
  const shift = uid === account.uid ? 6 : gid === account.gid ? 3 : 0
  return ((mode >> shift) & need) === need
}
