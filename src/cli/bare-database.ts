import { openDataDir } from '../base/data-dir.ts'
import { applicationName, type Database, openDatabase, ping } from '../db/database.ts'
import { explainDatabaseError } from '../db/trouble.ts'
import { Door, databaseWaitMs } from './door.ts'
import { giveUp } from './give-up.ts'
import { openDatabaseOf } from './home.ts'
import type { GlobalOptions } from './options.ts'
import { terminal } from './terminal.ts'

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
  options: GlobalOptions,
  create: 'never' | 'if-empty',
  work: (bare: BareDatabase) => Promise<T>,
): Promise<T> {
  const dataDir = openDataDir(options.dataDir, create)
  const say = (line: string) => terminal.say(line)
  const door = new Door(dataDir, databaseWaitMs(options), say)
  const server = await openDatabaseOf(options, dataDir, say, door)
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
