import { ENVIRONMENT } from '../../base/config.ts'
import { isDataDir } from '../../base/data-dir.ts'
import { knownDataDirId } from '../../base/data-dir-id.ts'
import { hasPassword } from '../../base/secrets.ts'
import { OLDEST_POSTGRES } from '../../db/backup/move-target.ts'
import { applicationName, type Database, openDatabase } from '../../db/database.ts'
import { installedPackage } from '../../db/embedded/binaries.ts'
import { serverStatus, urlOf } from '../../db/embedded/server.ts'
import { mayWorkWith, migrations, schemaVersion } from '../../db/migrate.ts'
import { stuckRows } from '../../db/process-rows.ts'
import { serverClock, serverSize } from '../../db/server-identity.ts'
import { explainDatabaseError } from '../../db/trouble.ts'
import { giveUp } from '../open/give-up.ts'
import { openArchive } from '../open/open-archive.ts'
import { backups } from './backup-check.ts'
import { type Check, type Examined, type Finding, green, red, yellow } from './check.ts'
import { failover, wire } from './failover-checks.ts'
import { nodesCheck } from './nodes-check.ts'

/** A clock that is off by this much dates pages wrongly. */
const CLOCK_SECONDS = 5
const MB = 1_000_000

/** The fix for a password that others can read. */
const TO_A_FILE = 'write the URL into a file with mode 600, and set DATABASE_URL_FILE to its path instead'

/** Whether hooks of our account can read the password in a runner's environment, or everybody on its command line. */
function secrecy({ databaseUrlGiven }: Examined): Finding {
  if (databaseUrlGiven !== undefined && hasPassword(databaseUrlGiven))
    return yellow('every account on this machine can see the password on the command line', TO_A_FILE)
  if (hasPassword(ENVIRONMENT['DATABASE_URL'] ?? '') || ENVIRONMENT['PGPASSWORD'])
    return yellow("hooks of the same account can read the password in a runner's environment", TO_A_FILE)
  return green('no password in the environment')
}

const NOT_CHECKED = 'not checked: no database is running'

/** The checks of the database and its clock. A server that is not running is left alone. */
export const DATABASE_CHECKS: readonly Check[] = [
  { name: 'secrets', look: secrecy },
  { name: 'database', look: async (asked) => (await withServer(asked, examined)) ?? (await waiting(asked)) },
  {
    name: 'clock',
    look: async (asked) => {
      const found = await withServer(asked, clock).catch(() => undefined)
      return found ?? green('not compared: no database is running')
    },
  },
  { name: 'wire', look: wire },
  {
    name: 'failover',
    look: async (asked) => {
      if (asked.databaseUrl === undefined) return green('none: the database is embedded')
      return (await withServer(asked, failover).catch(() => undefined)) ?? green(NOT_CHECKED)
    },
  },
  {
    name: 'backup',
    look: async (asked) => {
      const found = await withServer(asked, backups).catch(() => undefined)
      const isAsked = asked.settings.config.BACKUP_EVERY !== undefined
      return found ?? (isAsked ? yellow(NOT_CHECKED, 'archivebox-ts run') : green(NOT_CHECKED))
    },
  },
  {
    name: 'nodes',
    look: async (asked) => (await withServer(asked, nodesCheck).catch(() => undefined)) ?? [],
  },
  {
    name: 'processes',
    look: async (asked) => {
      const found = await withServer(asked, stuckProcesses).catch(() => undefined)
      return found ?? green(NOT_CHECKED)
    },
  },
]

type Kind = 'embedded' | 'external'

/**
 * The finding of `look` in a running server; undefined when none runs, and one will be started when it is needed.
 * Throws AppError when the server refuses us.
 */
async function withServer<T extends Finding | readonly Finding[]>(
  asked: Examined,
  look: (asked: Examined, db: Database, kind: Kind) => Promise<T>,
): Promise<T | undefined> {
  const address = asked.databaseUrl === undefined ? await embeddedAddress(asked) : null
  const url = asked.databaseUrl ?? (address === null ? undefined : urlOf(address))
  if (url === undefined) return undefined
  const db = openDatabase(url, { name: applicationName('cli') })
  try {
    return await look(asked, db, asked.databaseUrl === undefined ? 'embedded' : 'external')
  } catch (error) {
    throw explainDatabaseError(error, url)
  } finally {
    await giveUp(db)
  }
}

async function embeddedAddress({ dataDir }: Examined) {
  return isDataDir(dataDir) ? (await serverStatus(dataDir)).address : null
}

/** The finding for an embedded server that is not running. */
async function waiting({ dataDir }: Examined): Promise<Finding> {
  const { postgresVersion: version } = installedPackage()
  const what = `PostgreSQL ${version}, embedded`
  if (!isDataDir(dataDir)) return green(`${what}: created with the data dir`)
  const { majorVersion } = await serverStatus(dataDir)
  if (majorVersion !== null && majorVersion !== Number.parseInt(version, 10))
    return red(`its version is PostgreSQL ${majorVersion}, but ${version} is installed`, 'archivebox-ts db upgrade')
  return green(`${what}: started when it is needed`)
}

async function examined(asked: Examined, db: Database, kind: Kind): Promise<Finding> {
  const { version, size } = await serverSize(db)
  const what = `PostgreSQL ${version.split(' ')[0]}, ${kind}, ${Math.ceil(size / MB)} MB`
  if (Number.parseInt(version, 10) < OLDEST_POSTGRES) return red(`${what}: ${OLDEST_POSTGRES} or newer is needed`)
  const newest = migrations().at(-1)?.version ?? 0
  const schema = await schemaVersion(db)
  if (schema > newest)
    return ((await mayWorkWith(db, schema)) ? yellow : red)(
      `${what}: its schema ${schema} is from a newer archivebox-ts (this one knows ${newest})`,
      'npm install -g archivebox-ts',
    )
  if (schema === newest) return green(`${what}, schema ${schema}`)
  return {
    ...yellow(
      `${what}: its schema is ${schema} of ${newest}; a command brings it up to date`,
      'archivebox-ts db migrate',
    ),
    fix: async (call) => {
      await (await openArchive(asked, { create: 'never' }, call)).close()
      return `the schema is ${newest}`
    },
  }
}

/** Processes that could not be ended: their pages wait for them. */
async function stuckProcesses({ dataDir }: Examined, db: Database): Promise<Finding> {
  const id = knownDataDirId(dataDir)
  const [first, ...others] = id === undefined ? [] : await stuckRows(db, id)
  if (!first) return green('no stuck process')
  const more = others.length > 0 ? ` (and ${others.length} more)` : ''
  return yellow(`${first.blocked_reason}${more}`, 'archivebox-ts status')
}

async function clock(_asked: Examined, db: Database): Promise<Finding> {
  const off = await serverClock(db)
  const seconds = Math.abs(off).toFixed(1)
  return Math.abs(off) > CLOCK_SECONDS
    ? yellow(`the database clock is ${seconds} s ${off > 0 ? 'ahead of' : 'behind'} ours`, 'timedatectl set-ntp true')
    : green(`the database clock agrees within ${Math.max(0.1, Math.abs(off)).toFixed(1)} s`)
}
