import { userInfo } from 'node:os'
import { type Account, accounts } from '../../base/account.ts'
import { AppError } from '../../base/errors.ts'

export { type Account, canReach } from '../../base/account.ts'

/**
 * The account that the server runs as: undefined = our own. PostgreSQL refuses to run as root, so root's server belongs
 * to the owner of the existing cluster (`owner`), else to `postgres`, else to `nobody`. Throws AppError when there is
 * no such user.
 */
export function serverAccount(owner?: { uid: number; gid: number }): Account | undefined {
  if (process.geteuid?.() !== 0) return undefined
  if (owner) {
    if (owner.uid !== 0) return { uid: owner.uid, gid: owner.gid, name: nameOf(owner.uid) }
    throw new AppError('The database cluster belongs to root, and PostgreSQL refuses to run as root', {
      hint: 'Give it back to the user that it was made for: chown -R postgres DATA_DIR/postgres/',
    })
  }
  const known = accounts()
  const account = known.get('postgres') ?? known.get('nobody')
  if (account && account.uid !== 0) return account
  throw new AppError('PostgreSQL refuses to run as root, and there is no user postgres or nobody to run it as', {
    hint: 'Run as an ordinary user, or set DATABASE_URL.',
  })
}

const nameOf = (uid: number): string =>
  [...accounts().values()].find((account) => account.uid === uid)?.name ?? `uid ${uid}`

/** The name of our own user for the server's peer check; undefined when the uid has none. */
export function ownName(): string | undefined {
  try {
    return userInfo().username
  } catch {
    return undefined
  }
}
