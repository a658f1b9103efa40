import { join } from 'node:path'
import type { Settings } from '../base/config.ts'
import { openDataDir } from '../base/data-dir.ts'
import { dataDirId } from '../base/data-dir-id.ts'
import { AppError, EXIT, UsageError } from '../base/errors.ts'
import { uuidv7 } from '../base/ids.ts'
import { Removal } from '../base/removal.ts'
import { shownCommand } from '../base/shown-command.ts'
import { connectAhead, type Database, type DatabaseOptions, openDatabase, ping } from '../db/database.ts'
import { forgetOriginalServer } from '../db/embedded/copied.ts'
import { enterServer, leaveServer, reviveServer, urlOf } from '../db/embedded/server.ts'
import { heartbeatWhileWaiting } from '../db/heartbeats.ts'
import type { Home } from '../db/home.ts'
import { migrate } from '../db/migrate.ts'
import { type NewRow, runningRow } from '../db/new-process.ts'
import { insertRunning, markEnded } from '../db/processes.ts'
import type { ProcessType } from '../db/tables.ts'
import { explainDatabaseError } from '../db/trouble.ts'
import { ownIdentity } from '../processes/identity.ts'
import { currentMachine } from '../processes/machine.ts'
import { startedBy } from '../processes/presence.ts'
import { believeOlder } from './believe-older.ts'
import { COMMAND_CONNECTION, type LikelyDatabase, leaveUntaken, likelyDatabase } from './database-ahead.ts'
import { type Behind, Door, databaseWaitMs } from './door.ts'
import { giveUp, leaveTime } from './give-up.ts'
import { isLed, ledHome } from './led-home.ts'
import type { GlobalOptions } from './options.ts'
import { patience } from './patience.ts'
import { terminal } from './terminal.ts'

/** What is under way is worth a longer wait than what is about to begin: for so long at least. */
const FOLLOW_MS = 30_000

/** An opened data dir with its database, and the way out. */
export interface OpenHome {
  readonly home: Home
  readonly kind: 'embedded' | 'external'
  readonly settings: Settings
  /** Waits for a database that went away, as at the start; one of our own is started again. Throws AppError. */
  untilBack(): Promise<void>
  /** Closes the connection; the last user of an embedded server stops it. */
  close(): Promise<void>
}

/** The database of a data dir, as its options name it, and the way out. */
interface DatabaseOf extends Behind {
  readonly kind: OpenHome['kind']
  /** An embedded server was up already. */
  readonly wasUp: boolean
  leave(): Promise<void>
}

/** The database of a data dir: DATABASE_URL when it is set, else the embedded server, started when it is not up. */
export async function openDatabaseOf(
  options: GlobalOptions,
  dataDir: string,
  say: (line: string) => void,
  door: Door,
): Promise<DatabaseOf> {
  const url = options.databaseUrl
  if (url) return { url, kind: 'external', wasUp: true, revive: async () => {}, leave: async () => {} }
  const lease = await enterServer(dataDir, { say, wait: door.through })
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

/** One step to bring the embedded server back that was lost. */
const reviving = (dataDir: string) => async () => {
  await reviveServer(dataDir, (step) => step())
}

/** How a command opens its data dir, where it is not like most. */
export interface OpenOptions {
  readonly connection?: DatabaseOptions
  /** How long it waits for a database that is on its way up. */
  readonly waitMs?: number
  /** For a few statements at once: while a runner leads, this needs no lock. */
  readonly isBrief?: boolean
}

/**
 * Opens a data dir: its directory, its database with an up-to-date schema, and this machine's row. Waits for a database
 * on its way up.
 */
export async function openHome(
  options: GlobalOptions,
  create: 'never' | 'if-empty' | 'force',
  say: (line: string) => void,
  { connection = COMMAND_CONNECTION, waitMs: doorMs = databaseWaitMs(options), isBrief = false }: OpenOptions = {},
): Promise<OpenHome> {
  const dataDir = openDataDir(options.dataDir, create)
  const id = await dataDirId(dataDir, () => {
    say(`${dataDir} is a copy of another data dir: it gets an identity of its own`)
    const torn = forgetOriginalServer(dataDir)
    if (torn)
      say(
        'its database was in use while it was copied: should it be damaged, end what uses the original ' +
          'and copy it again',
      )
  })
  const door = new Door(dataDir, doorMs, say)
  const early = options.databaseUrl ? undefined : (options.ahead?.take(dataDir) ?? likelyDatabase(dataDir, connection))
  const askLead = async ({ url, db, led }: LikelyDatabase) =>
    await (led ?? ledHome(db, { databaseUrl: url, dataDir, dataDirId: id }))
  const led = isBrief && early ? await askLead(early) : undefined
  /** From here on a command waits for a database that goes away; a runner has ways of its own. */
  const stays = (server: Behind, db: Database) => {
    if (connection === COMMAND_CONNECTION) db.patience = patience(doorMs, server.revive, say)
  }
  const waitAgain = async (server: Behind, db: Database) => {
    const again = new Door(dataDir, Math.max(doorMs, FOLLOW_MS), say)
    await again.connect(server, () => ping(db))
    again.passed()
  }
  if (led) {
    stays({ url: led.databaseUrl, revive: reviving(dataDir) }, led.db)
    return {
      home: led,
      kind: 'embedded',
      settings: options.settings,
      untilBack: async () => await waitAgain({ url: led.databaseUrl, revive: reviving(dataDir) }, led.db),
      close: async () => {
        const isStillLed = await Promise.race([isLed(led), leaveTime()])
        await giveUp(led.db)
        if (!isStillLed) await leaveServer(dataDir)
      },
    }
  }
  // The lock is taken by a program of its own, which takes its time while we connect.
  const entering = openDatabaseOf(options, dataDir, say, door)
  entering.catch(() => {}) // It is awaited below.
  if (early && !early.led) void connectAhead(early.db)
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
        : openDatabase(server.url, { ...connection, prepare: server.kind === 'embedded' })
    db = open
    const home = await door.connect(server, async () => {
      // As good as asked now: nobody stops the server, and who registers as a runner looks at the schema once more.
      const seen = server.wasUp && early?.url === server.url ? await early.led : undefined
      if (seen) return seen
      const applied = await migrate(open, server.url, say, believeOlder(options.known, dataDir))
      // The names of the steps tell something only where there was a schema before.
      if (applied.includes('init')) {
        if (server.kind === 'external') say('the database is made')
      } else if (applied.length > 0) say(`database schema: applied ${applied.join(', ')}`)
      const { id: machineId } = await currentMachine(open)
      const opened = {
        db: open,
        databaseUrl: server.url,
        embedded: server.kind === 'embedded',
        machineId,
        dataDir,
        dataDirId: id,
      }
      if (Removal.begun(dataDir).length > 0) await (await import('../machines/deletion.ts')).reconcileDeletions(opened)
      return opened
    })
    door.passed()
    stays(server, open)
    return {
      home,
      kind: server.kind,
      settings: options.settings,
      untilBack: async () => await waitAgain(server, open),
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

/** Opens an existing data dir for the time of `work`. */
export async function withHome<T>(options: GlobalOptions, work: (home: Home) => Promise<T>): Promise<T> {
  const open = await openHome(options, 'never', (line) => terminal.say(line))
  try {
    return await work(open.home)
  } finally {
    await open.close()
  }
}

/** Runs a command as a registered process: its row is there while it works, with its exit code afterwards. */
export async function asProcess<T>(
  home: Home,
  processType: ProcessType,
  work: () => Promise<T>,
  id = uuidv7(),
): Promise<T> {
  const registered = async (row: NewRow) => {
    await insertRunning(home, row)
    return await work()
  }
  return await asProcessOf(home, processType, registered, id)
}

/** The same, for `work` that writes the process's row together with what it writes first. */
export async function asProcessOf<T>(
  home: Home,
  processType: ProcessType,
  work: (row: NewRow) => Promise<T>,
  id = uuidv7(),
): Promise<T> {
  const parentId = await startedBy(home)
  const cmd = shownCommand(process.argv)
  const values = { id, processType, parentId, runnerId: null, pwd: home.dataDir, cmd }
  const row = runningRow(home, values, await ownIdentity())
  // For those who cannot see this process: what stands still is not waited for.
  const endBeating = heartbeatWhileWaiting(home.db, id)
  let code: number = EXIT.failed
  try {
    const value = await work(row)
    code = Number(process.exitCode ?? EXIT.ok)
    return value
  } catch (error) {
    if (error instanceof AppError) code = error.exitCode
    throw error
  } finally {
    endBeating()
    await markEnded(home.db, id, { code, signal: null }).catch(() => {})
  }
}

/**
 * Throws UsageError when a hook of this data dir's runner started us: as a newer runner we would end the one that the
 * hook works for, and its page, which is begun again then, would start us again.
 */
export async function refuseBelowRunner(home: Home): Promise<void> {
  if ((await startedBy(home)) === null) return
  throw new UsageError(
    'a hook cannot be the runner: it would end the one that it works for',
    'archivebox-ts add, without --run, queues for it',
  )
}

/** Where the lines of runners and workers are kept. */
export function runnerLog(dataDir: string): string {
  return join(dataDir, 'logs', 'runner.log')
}
