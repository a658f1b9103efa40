import { openDataDir } from '../../base/data-dir.ts'
import { dataDirId } from '../../base/data-dir-id.ts'
import { Removal } from '../../base/removal.ts'
import { connectAhead, type Database, type DatabaseOptions, openDatabase, ping } from '../../db/database.ts'
import { forgetOriginalServer } from '../../db/embedded/copied.ts'
import { enterServer, leaveServer, reviveServer, urlOf } from '../../db/embedded/server.ts'
import { migrate } from '../../db/migrate.ts'
import { inheritNode } from '../../db/nodes.ts'
import { explainDatabaseError } from '../../db/trouble.ts'
import { currentMachine } from '../../processes/machine.ts'
import type { Archive, Configured } from '../archive.ts'
import type { Call } from '../call.ts'
import { type Behind, Door, databaseWaitMs } from './door.ts'
import type { OpenEvent } from './events.ts'
import { giveUp, leaveTime } from './give-up.ts'
import { COMMAND_CONNECTION, isLed, leaveUntaken, ledHome, likelyDatabase } from './led-home.ts'
import { migrating } from './migrating.ts'
import { leavingAlone, takingOver } from './older-runner.ts'
import { refuseOthersDatabase } from './own-database.ts'
import { patience } from './patience.ts'

/** Work in progress is worth a longer wait than work that is about to begin: at least this long. */
const FOLLOW_MS = 30_000

/** The database of a data dir, as its options name it, and how to leave it. */
interface DatabaseOf extends Behind {
  readonly kind: Archive['kind']
  /** The embedded server was running already. */
  readonly wasUp: boolean
  leave(): Promise<void>
}

/** The database of a data dir: DATABASE_URL if set, else the embedded server, which is started if it is not running. */
export async function openDatabaseOf(
  { databaseUrl: url }: Configured,
  dataDir: string,
  { tell }: Call<OpenEvent>,
  door: Door,
): Promise<DatabaseOf> {
  if (url) return { url, kind: 'external', wasUp: true, revive: async () => {}, leave: async () => {} }
  const lease = await enterServer(dataDir, { wait: door.through, ...(tell && { tell }) })
  return {
    url: urlOf(lease.address),
    kind: 'embedded',
    wasUp: lease.how === 'adopted',
    revive: reviving(dataDir),
    leave: async () => {
      await lease.leave()
    },
  }
}

/** One step to bring back an embedded server that was lost. */
const reviving = (dataDir: string) => async () => {
  await reviveServer(dataDir, (step) => step())
}

/** How to open a data dir. */
export interface OpenInput {
  /** What to make of a folder that is no data dir. */
  readonly create: 'never' | 'if-empty' | 'force'
  readonly connection?: DatabaseOptions
  /** How long to wait for a database that is starting. */
  readonly waitMs?: number
  /** For a few statements at once: while a runner leads, this needs no lock. */
  readonly isBrief?: boolean
  /** Takes over from a runner of an older program, where the schema must change; so long it may take to drain. */
  readonly handoffGraceMs?: number
}

/**
 * Opens a data dir: its directory, its database with an up-to-date schema, and this machine's row. Waits for a database
 * that is starting. Throws AppError; with 130 when `signal` ends the wait.
 */
export async function openArchive(
  configured: Configured,
  { create, connection = COMMAND_CONNECTION, waitMs, isBrief = false, handoffGraceMs }: OpenInput,
  call: Call<OpenEvent> = {},
): Promise<Archive> {
  const { settings, known } = configured
  const doorMs = waitMs ?? databaseWaitMs(settings)
  const tell = (event: OpenEvent) => call.tell?.(event)
  const dataDir = openDataDir(configured.dataDir, create)
  let isCopy = false
  const id = await dataDirId(dataDir, () => {
    isCopy = true
    tell({ event: 'copied data dir', dataDir, torn: forgetOriginalServer(dataDir) })
  })
  const door = new Door(dataDir, doorMs, call)
  const early = configured.databaseUrl ? undefined : likelyDatabase(dataDir, connection)
  const led =
    isBrief && early
      ? await door
          .connect({ url: early.url, revive: async () => {} }, () =>
            ledHome(early.db, { databaseUrl: early.url, dataDir, dataDirId: id }),
          )
          .catch(async (error: unknown) => {
            await leaveUntaken(dataDir, early.db)
            throw error
          })
      : undefined
  /** From here on a command waits for a database that goes away; a runner handles that itself. */
  const stays = (server: Behind, db: Database) => {
    if (connection === COMMAND_CONNECTION) db.patience = patience(doorMs, server.revive, tell)
  }
  const waitAgain = async (server: Behind, db: Database, signal: AbortSignal | undefined) => {
    const again = new Door(dataDir, Math.max(doorMs, FOLLOW_MS), { tell, ...(signal && { signal }) })
    await again.connect(server, () => ping(db))
    again.passed()
  }
  if (led) {
    stays({ url: led.databaseUrl, revive: reviving(dataDir) }, led.db)
    return {
      home: led,
      kind: 'embedded',
      settings,
      known,
      untilBack: async (signal) => await waitAgain({ url: led.databaseUrl, revive: reviving(dataDir) }, led.db, signal),
      close: async () => {
        const isStillLed = await Promise.race([isLed(led), leaveTime()])
        await giveUp(led.db)
        if (!isStillLed) await leaveServer(dataDir)
      },
    }
  }
  // A separate program takes the lock, which needs its time while we connect.
  const entering = openDatabaseOf(configured, dataDir, call, door)
  entering.catch(() => {}) // It is awaited below.
  if (early) void connectAhead(early.db)
  const server = await entering.catch(async (error: unknown) => {
    if (early) await leaveUntaken(dataDir, early.db)
    throw error
  })
  let db: Database | undefined
  try {
    if (early && early.url !== server.url) await giveUp(early.db)
    const open =
      early?.url === server.url
        ? early.db
        : openDatabase(server.url, { ...connection, embedded: server.kind === 'embedded' })
    db = open
    const home = await door.connect(server, async () => {
      if (server.kind === 'external') await refuseOthersDatabase(configured, { db: open, dataDir, dataDirId: id })
      const makeWay = handoffGraceMs === undefined ? leavingAlone : takingOver(dataDir, handoffGraceMs)
      const changed = { url: server.url, dataDir }
      const applied = await migrate(open, server.url, migrating(configured, changed, makeWay, call))
      if (applied.includes('init')) {
        if (server.kind === 'external') tell({ event: 'database made' })
      } else if (applied.length > 0) tell({ event: 'schema changed', applied })
      const { id: machineId } = await currentMachine(open)
      const opened = {
        db: open,
        databaseUrl: server.url,
        embedded: server.kind === 'embedded',
        machineId,
        dataDir,
        dataDirId: id,
      }
      if (isCopy) await inheritNode(opened, true)
      if (Removal.begun(dataDir).length > 0)
        await (await import('../../machines/deletion.ts')).reconcileDeletions(opened)
      return opened
    })
    door.passed()
    stays(server, open)
    return {
      home,
      kind: server.kind,
      settings,
      known,
      untilBack: async (signal) => await waitAgain(server, open, signal),
      close: async () => {
        await giveUp(open)
        await server.leave()
      },
    }
  } catch (error) {
    if (db) await giveUp(db)
    await server.leave().catch(() => {})
    throw explainDatabaseError(error, server.url)
  }
}
