import { randomUUID } from 'node:crypto'
import {
  chownSync,
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { AppError } from '../../base/errors.ts'
import type { FileLock } from '../../base/file-lock.ts'
import type { TellDatabase } from '../events.ts'
import { type Account, canReach, ownName } from './account.ts'
import { DATABASE, USER } from './address.ts'
import type { Binaries } from './binaries.ts'
import type { Cluster } from './cluster.ts'
import { explainDisk, explainOutput } from './disk-errors.ts'
import { runProgram } from './run.ts'
import { makeEnterable, serverDir } from './server-dir.ts'
import { writeSettings } from './settings.ts'

/** The directory below `serverDir()` for clusters that cannot be in their data directory. */
const CLUSTERS = 'clusters'

/**
 * Creates the cluster: aside, then by one rename, so that DATA_DIR/postgres is absent or complete. The caller holds
 * `lock`, and initdb inherits it: if we are killed, nobody cleans up under an initdb that still writes. Throws AppError
 * naming the directory; nothing half-made stays.
 */
export async function initialise(
  cluster: Cluster,
  binaries: Binaries,
  account: Account | undefined,
  lock: FileLock,
  tell: TellDatabase,
): Promise<void> {
  refuseNameless(account)
  const aside = `${cluster.pgdata}.init-${randomUUID()}`
  let place = cluster.dataDir
  try {
    if (canReach(cluster.dataDir, account, 1)) mkdirSync(aside, { mode: 0o700 })
    else {
      place = join(resolve(serverDir()), CLUSTERS, randomUUID())
      // First the link, then its target: a process that is killed in between leaves a link to what must be removed.
      symlinkSync(place, aside)
      makeEnterable(dirname(place))
      mkdirSync(place, { mode: 0o700 })
    }
    const directory = realpathSync(aside)
    if (account) chownSync(directory, account.uid, account.gid)
    if (place === cluster.dataDir) tell({ event: 'making database', place: cluster.pgdata, insteadOf: undefined })
    else
      tell({
        event: 'making database',
        place,
        insteadOf: { dataDir: cluster.dataDir, user: account?.name ?? '' },
      })
    const run = async (program: 'initdb' | 'postgres', args: string[], input?: string) => {
      const stdin = input === undefined ? 'ignore' : 'pipe'
      const stdio = [stdin, 'ignore', 'pipe', lock.fd] as const
      const { code, output } = await runProgram(binaries[program], args, account, [...stdio], input)
      if (code !== 0) throw explainOutput(program, output, place)
    }
    await run('initdb', ['-D', directory, '-U', USER, ...INITDB])
    await run('postgres', ['--single', '-D', directory, '-c', 'exit_on_error=on', 'template1'], NAME_DATABASE)
    writeSettings(directory, account, binaries.majorVersion)
    renameSync(aside, cluster.pgdata)
    writeThrough(cluster.dataDir)
  } catch (error) {
    removeCluster(aside)
    throw explainDisk(error, place)
  }
}

/** Deletes what killed initialisations, also of upgrades, left in the data dir. The caller holds the start lock. */
export function removeLeftovers(cluster: Cluster): void {
  for (const name of readdirSync(cluster.dataDir)) {
    if (/^postgres(?:\.next)?\.init-/.test(name)) removeCluster(join(cluster.dataDir, name))
  }
}

/** initdb needs a name for its own user, even if it does not use it. */
function refuseNameless(account: Account | undefined): void {
  if (account || ownName() !== undefined) return
  throw new AppError(
    `PostgreSQL cannot make a database for uid ${process.getuid?.()}, which has no name in /etc/passwd`,
    {
      hint: 'Add a line for it to /etc/passwd, run as a user that has one, or set DATABASE_URL.',
    },
  )
}

const INITDB = [
  ...['--auth-local=peer', '--auth-host=reject', '--no-instructions'],
  // Not --no-sync: initdb flushes its files at its end, which costs a tenth of a second.
  ...['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
  ...['--data-checksums', '--wal-segsize=4'],
]

/**
 * Gives the new cluster our database, so that a cluster which exists always has it. It is initdb's empty `postgres`
 * under another name: a server without clients (--single) renames it in 30 ms, a new one would take a fifth of a
 * second.
 */
const NAME_DATABASE = `alter database postgres rename to ${DATABASE}\n`

/** Removes a cluster, or its remains; for a link, its target. */
export function removeCluster(aside: string): void {
  const found = lstatSync(aside, { throwIfNoEntry: false })
  if (found?.isSymbolicLink()) {
    const place = readlinkSync(aside)
    // Only what `initialise` itself creates: a link could lead anywhere.
    if (basename(dirname(place)) === CLUSTERS) rmSync(place, { recursive: true, force: true })
    unlinkSync(aside)
  } else if (found) rmSync(aside, { recursive: true, force: true, maxRetries: 3 })
}

/** Makes sure that renames in a directory are on disk. */
export function writeThrough(directory: string): void {
  const fd = openSync(directory, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
