import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { knownDataDirId } from '../base/data-dir-id.ts'
import { applicationName, type Database, type DatabaseOptions, openDatabase } from '../db/database.ts'
import { leaveServer, likelyAddress, urlOf } from '../db/embedded/server.ts'
import type { Home } from '../db/home.ts'
import { giveUp } from './give-up.ts'
import { ledHome } from './led-home.ts'

const LEAVE_MS = 1_000

/** How commands connect, where nothing else is said. */
export const COMMAND_CONNECTION: DatabaseOptions = { name: applicationName('cli') }

/** Connections to an embedded server that seems to serve. Whether it does shows with the first statement. */
export interface LikelyDatabase {
  readonly url: string
  readonly db: Database
  /** Its data dir, if a leader is there; undefined: that was not asked. */
  readonly led?: Promise<Home | undefined>
}

/** The embedded server of a data dir, if it seems to serve. */
export function likelyDatabase(dataDir: string, connection: DatabaseOptions): LikelyDatabase | undefined {
  const address = likelyAddress(dataDir)
  if (!address) return undefined
  return { url: urlOf(address), db: openDatabase(urlOf(address), { ...connection, prepare: true }) }
}

/**
 * Gives up a connection that nobody has taken, and leaves its server: whoever left that meanwhile saw it in use. When
 * somebody else holds the server's lock, such as an upgrade, that one sees to it, or the next who leaves.
 */
export async function leaveUntaken(dataDir: string, db: Database): Promise<void> {
  await giveUp(db)
  await leaveServer(dataDir, LEAVE_MS).catch(() => {})
}

/** Connects to the embedded server of a data dir and asks who leads; undefined: no server seems to serve. */
export async function askAhead(path: string, connection: DatabaseOptions): Promise<DatabaseAhead | undefined> {
  try {
    const dataDir = realpathSync(resolve(path))
    const dataDirId = knownDataDirId(dataDir)
    const likely = dataDirId === undefined ? undefined : likelyDatabase(dataDir, connection)
    if (dataDirId === undefined || !likely) return undefined
    const led = ledHome(likely.db, { databaseUrl: likely.url, dataDir, dataDirId })
    led.catch(() => {}) // Whoever takes it sees the failure.
    await turn() // The request for the connection leaves.
    return new DatabaseAhead(dataDir, { ...likely, led })
  } catch {
    return undefined // Whatever is wrong shows again on the usual way.
  }
}

/**
 * The database of a command that loads the rest of itself meanwhile: the server takes as long to make a connection, and
 * to say who leads, as that takes.
 */
export class DatabaseAhead {
  readonly #dataDir: string
  #likely: LikelyDatabase | undefined

  constructor(dataDir: string, likely: LikelyDatabase) {
    this.#dataDir = dataDir
    this.#likely = likely
  }

  /** Hands the connection over, once, to whoever opens this data dir. */
  take(dataDir: string): LikelyDatabase | undefined {
    if (dataDir !== this.#dataDir) return undefined
    const likely = this.#likely
    this.#likely = undefined
    return likely
  }

  /** Leaves the server, unless somebody has taken the connection. */
  async close(): Promise<void> {
    if (this.#likely) await leaveUntaken(this.#dataDir, this.#likely.db)
  }
}
