import { isDataDir } from '../../base/data-dir.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { applicationName, type Database, openDatabase } from '../../db/database.ts'
import { installedPackage } from '../../db/embedded/binaries.ts'
import { serverStatus, urlOf } from '../../db/embedded/server.ts'
import { migrations, schemaVersion } from '../../db/migrate.ts'
import { serverClock, serverSize } from '../../db/server-identity.ts'
import { explainDatabaseError } from '../../db/trouble.ts'
import { giveUp, openHome } from '../home.ts'
import type { Asked } from '../settings.ts'
import { terminal } from '../terminal.ts'
import { type Check, type Finding, green, red, yellow } from './check.ts'

/** The oldest PostgreSQL that does. */
const OLDEST = 14
/** A clock that is so far off dates pages wrongly. */
const CLOCK_SECONDS = 5
const MB = 1_000_000

export const DATABASE_CHECK: Check = { name: 'database', look: database }

/** The database, its schema, and its clock: one connection for all three. A server that is not up is left alone. */
async function database(asked: Asked): Promise<Finding> {
  const url = asked.databaseUrl
  if (url !== undefined) return await reached(asked, url, 'external')
  const { version } = installedPackage()
  if (!isDataDir(asked.dataDir)) return green(`PostgreSQL ${version}, embedded: made with the data dir`)
  const status = await serverStatus(asked.dataDir)
  if (status.address) return await reached(asked, urlOf(status.address), 'embedded')
  const older = status.majorVersion !== null && status.majorVersion !== Number.parseInt(version, 10)
  if (older)
    return red(`it is of PostgreSQL ${status.majorVersion}, and ${version} is installed`, 'archivebox-ts db upgrade')
  return green(`PostgreSQL ${version}, embedded: started when it is needed`)
}

async function reached(asked: Asked, url: string, kind: 'embedded' | 'external'): Promise<Finding> {
  const db = openDatabase(url, { name: applicationName('cli') })
  try {
    return await examined(asked, db, kind)
  } catch (error) {
    const known = explainDatabaseError(error, url)
    return red(messageOf(known), known instanceof AppError ? known.hint : undefined)
  } finally {
    await giveUp(db)
  }
}

async function examined(asked: Asked, db: Database, kind: 'embedded' | 'external'): Promise<Finding> {
  const { version, size } = await serverSize(db)
  const what = `PostgreSQL ${version}, ${kind}, ${Math.ceil(size / MB)} MB`
  if (Number.parseInt(version, 10) < OLDEST) return red(`${what}: ${OLDEST} or newer is needed`)
  const newest = migrations().at(-1)?.version ?? 0
  const schema = await schemaVersion(db)
  if (schema > newest)
    return red(
      `${what}: its schema ${schema} is of a newer archivebox-ts (${newest} is known here)`,
      'npm install -g archivebox-ts',
    )
  const off = await serverClock(db)
  if (Math.abs(off) > CLOCK_SECONDS)
    return yellow(
      `${what}: its clock is ${Math.abs(off).toFixed(0)} s ${off > 0 ? 'ahead of' : 'behind'} ours`,
      'timedatectl set-ntp true',
    )
  if (schema < newest)
    return {
      ...yellow(`${what}: schema ${schema} of ${newest}; the next command brings it up to date`, 'archivebox-ts init'),
      fix: async () => {
        await (await openHome(asked, 'never', (line) => terminal.say(line))).close()
        return `the schema is ${newest}`
      },
    }
  return green(`${what}, schema ${schema}, clocks agree within ${Math.max(0.1, Math.abs(off)).toFixed(1)} s`)
}
