import { hostname } from 'node:os'
import { machineGuid } from '../../base/machine-file.ts'
import { Removal } from '../../base/removal.ts'
import { applicationName, type Database, type DatabaseOptions, openDatabase } from '../../db/database.ts'
import { leaveServer, likelyAddress, urlOf } from '../../db/embedded/server.ts'
import type { Home } from '../../db/home.ts'
import { newestSchema } from '../../db/migrate.ts'
import { type SeenLead, seenLead } from '../../db/runners.ts'
import { livenessOf } from '../../processes/identity.ts'
import { giveUp } from './give-up.ts'

const LEAVE_MS = 1_000

/** How commands connect by default. */
export const COMMAND_CONNECTION: DatabaseOptions = { name: applicationName('cli') }

/** Connections to an embedded server that seems to serve. The first statement shows whether it does. */
export interface LikelyDatabase {
  readonly url: string
  readonly db: Database
}

/** The embedded server of a data dir, if it seems to serve. */
export function likelyDatabase(dataDir: string, connection: DatabaseOptions): LikelyDatabase | undefined {
  const address = likelyAddress(dataDir)
  if (!address) return undefined
  return { url: urlOf(address), db: openDatabase(urlOf(address), { ...connection, embedded: true }) }
}

/**
 * Closes a connection that was not used, and leaves its server: others that left meanwhile saw it in use. If somebody
 * else holds the server's lock, such as an upgrade, they take care of it, or the next one that leaves.
 */
export async function leaveUntaken(dataDir: string, db: Database): Promise<void> {
  await giveUp(db)
  await leaveServer(dataDir, LEAVE_MS).catch(() => {})
}

/**
 * An opened data dir with a leader: for the time of a few statements, without a share of the embedded server; whoever
 * stays longer takes one as well. A lock takes a separate process, as long as half of the rest. The leader holds such a
 * share until it exits, which is after it has closed its row; and whoever leaves stops no server with connections
 * (`clientsOf`). Ours existed when the row was read.
 * @param db of an embedded server, whose connections stay open
 * @returns undefined: no leader can be seen from here, or something has to be done first
 */
export async function ledHome(
  db: Database,
  { databaseUrl, dataDir, dataDirId }: Pick<Home, 'databaseUrl' | 'dataDir' | 'dataDirId'>,
): Promise<Home | undefined> {
  const seen = await presentLead(db, dataDirId)
  if (seen?.version !== newestSchema() || Removal.begun(dataDir).length > 0) return undefined
  return { db, databaseUrl, embedded: true, machineId: seen.machineId, dataDir, dataDirId }
}

/** Whether a leader is still there, which leaves the server later than we do. */
export async function isLed({ db, dataDirId }: Home): Promise<boolean> {
  return (await presentLead(db, dataDirId)) !== undefined
}

async function presentLead(db: Database, dataDirId: string): Promise<SeenLead | undefined> {
  // Any problem shows again on the usual way.
  const seen = await seenLead(db, dataDirId, { guid: machineGuid(), hostname: hostname() }).catch(() => undefined)
  return seen && (await livenessOf(seen.leader)) === 'alive' ? seen : undefined
}
