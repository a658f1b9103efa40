import { openDataDir } from '../../base/data-dir.ts'
import { applicationName, type Database, openDatabase, ping } from '../../db/database.ts'
import { explainDatabaseError } from '../../db/trouble.ts'
import type { Configured } from '../archive.ts'
import type { Call } from '../call.ts'
import { Door, databaseWaitMs } from './door.ts'
import type { OpenEvent } from './events.ts'
import { giveUp } from './give-up.ts'
import { openDatabaseOf } from './open-archive.ts'

/** A database as it is, whatever its schema. Whoever opens it closes it. */
export interface BareDatabase {
  readonly db: Database
  readonly url: string
  readonly dataDir: string
  /** The embedded server was running already. */
  readonly wasUp: boolean
  close(): Promise<void>
}

/** Opens the database of a data dir without migrating it. Throws AppError; with 130 when the call's signal ends it. */
export async function openBareDatabase(
  configured: Configured,
  create: 'never' | 'if-empty',
  call: Call<OpenEvent>,
): Promise<BareDatabase> {
  const dataDir = openDataDir(configured.dataDir, create)
  const door = new Door(dataDir, databaseWaitMs(configured.settings), call)
  const server = await openDatabaseOf(configured, dataDir, call, door)
  const db = openDatabase(server.url, { name: applicationName('cli') })
  const close = async () => {
    await giveUp(db)
    await server.leave()
  }
  try {
    await door.connect(server, () => ping(db))
    door.passed()
    return { db, url: server.url, dataDir, wasUp: server.wasUp, close }
  } catch (error) {
    await close()
    throw explainDatabaseError(error, server.url)
  }
}
