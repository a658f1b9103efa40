import { readFileSync, realpathSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname } from 'node:path'
import { AppError } from '../../base/errors.ts'

/** The unprivileged user that the server runs as when we are root. */
export interface Account {
  readonly uid: number
  readonly gid: number
  readonly name: string
}

/**
 * Whom the server runs as: undefined = ourselves. PostgreSQL refuses to run as root, so root's server belongs to
 * whoever owns the cluster already (`owner`), else to `postgres`, else to `nobody`. Throws AppError when there is no
 * such user.
 */
export function serverAccount(owner?: { uid: number; gid: number }): Account | undefined {
  if (process.geteuid?.() !== 0) return undefined
  if (owner) {
    if (owner.uid !== 0) return { uid: owner.uid, gid: owner.gid, name: `uid ${owner.uid}` }
    throw new AppError('The database cluster belongs to root, and PostgreSQL refuses to run as root', {
      hint: 'Give it back to the user that it was made for: chown -R postgres DATA_DIR/postgres/',
    })
  }
  const accounts = passwd()
  const account = accounts.get('postgres') ?? accounts.get('nobody')
  if (account && account.uid !== 0) return account
  throw new AppError('PostgreSQL refuses to run as root, and there is no user postgres or nobody to run it as', {
    hint: 'Run as an ordinary user, or set DATABASE_URL.',
  })
}

/** The name of our own user as the server's peer check will see it; undefined when the uid has none. */
export function ownName(): string | undefined {
  try {
    return userInfo().username
  } catch {
    return undefined
  }
}

/**
 * Whether `account` may enter every directory on the way to `path`, and use it with `need` (mode bits: 4 read, 2 write,
 * 1 enter).
 */
export function canReach(path: string, account: Account | undefined, need: number): boolean {
  if (!account) return true
  const real = realpathSync(path)
  if (!allows(real, account, need)) return false
  for (let dir = dirname(real); ; dir = dirname(dir)) {
    if (!allows(dir, account, 1)) return false
    if (dir === dirname(dir)) return true
  }
}

function allows(path: string, account: Account, need: number): boolean {
  const { uid, gid, mode } = statSync(path)
  const shift = uid === account.uid ? 6 : gid === account.gid ? 3 : 0
  return ((mode >> shift) & need) === need
}

function passwd(): Map<string, Account> {
  const accounts = new Map<string, Account>()
  for (const line of readFileSync('/etc/passwd', 'utf8').split('\n')) {
    const [name, , uid, gid] = line.split(':')
    // macOS writes nobody as -2.
    if (name && uid && gid) accounts.set(name, { name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 })
  }
  return accounts
}
