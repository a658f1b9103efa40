import { realpathSync } from 'node:fs'
import { openDataDir } from '../../base/data-dir.ts'
import { applicationName, openDatabase } from '../../db/database.ts'
import { serverStatus, urlOf } from '../../db/embedded/server.ts'
import { schemaVersion } from '../../db/migrate.ts'
import { serverSize } from '../../db/server-identity.ts'
import { explainDatabaseError, maskPassword } from '../../db/trouble.ts'
import type { Configured } from '../archive.ts'
import type { Call } from '../call.ts'
import { Door, databaseWaitMs } from '../open/door.ts'
import type { OpenEvent } from '../open/events.ts'
import { giveUp } from '../open/give-up.ts'

/** The database of a data dir and its state. An embedded server that is not running is left alone. */
export async function databaseStatus(configured: Configured, call: Call<OpenEvent>) {
  const { databaseUrl } = configured
  return databaseUrl === undefined ? await embedded(configured) : await external(configured, databaseUrl, call)
}

async function embedded({ dataDir }: Configured) {
  const status = await serverStatus(realpathSync(openDataDir(dataDir, 'never')))
  const url = status.address && urlOf(status.address)
  return {
    kind: 'embedded',
    running: status.state === 'running',
    state: status.state,
    pid: status.pid,
    server_version: status.majorVersion,
    pgdata: status.pgdata,
    log: status.log,
    schema: url ? await schemaAt(url) : null,
    url: url ?? null,
  }
}

async function schemaAt(url: string): Promise<number> {
  const db = openDatabase(url, { name: applicationName('cli') })
  try {
    return await schemaVersion(db)
  } finally {
    await giveUp(db)
  }
}

async function external({ dataDir, settings }: Configured, url: string, call: Call<OpenEvent>) {
  const db = openDatabase(url, { name: applicationName('cli') })
  try {
    const door = new Door(dataDir, databaseWaitMs(settings), call)
    const { version, size } = await door.connect({ url, revive: async () => {} }, () => serverSize(db))
    door.passed()
    return {
      kind: 'external',
      running: true,
      server_version: version,
      size_bytes: size,
      schema: await schemaVersion(db),
      url: maskPassword(url),
    }
  } catch (error) {
    throw explainDatabaseError(error, url)
  } finally {
    await giveUp(db)
  }
}
