import { openDataDir } from '../../base/data-dir.ts'
import { applicationName, type Database, openDatabase, ping } from '../../db/database.ts'
import { explainDatabaseError } from '../../db/trouble.ts'
import type { Configured } from '../archive.ts'
import type { Call } from '../call.ts'
import { Door, databaseWaitMs } from './door.ts'
import type { OpenEvent } from './events.ts'
import { giveUp } from './give-up.ts'
import { openDatabaseOf } from './open-archive.ts'

/** A database as it is, whatever schema it has. */
export interface BareDatabase {
  readonly db: Database
  readonly url: string
  readonly dataDir: string
  /** An embedded server was up already. */
  readonly wasUp: boolean
}

/** Opens the database of a data dir without migrating it, for the time of `work`. */
export async function withBareDatabase<T>(
  configured: Configured,
  create: 'never' | 'if-empty',
  call: Call<OpenEvent>,
  work: (bare: BareDatabase) => Promise<T>,
): Promise<T> {
  const dataDir = openDataDir(configured.dataDir, create)
  const door = new Door(dataDir, databaseWaitMs(configured.settings), call)
  const server = await openDatabaseOf(configured, dataDir, call, door)
  const db = openDatabase(server.url, { name: applicationName('cli') })
  try {
    await door.connect(server, () => ping(db))
    door.passed()
    return await work({ db, url: server.url, dataDir, wasUp: server.wasUp })
  } catch (error) {
    throw explainDatabaseError(error, server.url)
  } finally {
    await giveUp(db)
    await server.leave()
  }
}
