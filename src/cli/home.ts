import { join } from 'node:path'
import type { Settings } from '../base/config.ts'
import { openDataDir } from '../base/data-dir.ts'
import { dataDirId } from '../base/data-dir-id.ts'
import { AppError, EXIT } from '../base/errors.ts'
import { Removal } from '../base/removal.ts'
import { shownCommand } from '../base/shown-command.ts'
import { applicationName, type DatabaseOptions, openDatabase } from '../db/database.ts'
import { forgetOriginalServer } from '../db/embedded/copied.ts'
import { enterServer, urlOf } from '../db/embedded/server.ts'
import type { Home } from '../db/home.ts'
import { migrate } from '../db/migrate.ts'
import { insertRunning, markEnded } from '../db/processes.ts'
import type { ProcessType } from '../db/tables.ts'
import { explainDatabaseError } from '../db/trouble.ts'
import { ownIdentity } from '../processes/identity.ts'
import { currentMachine } from '../processes/machine.ts'
import { startedBy } from '../processes/registry/lookup.ts'
import type { GlobalOptions } from './options.ts'
import { terminal } from './terminal.ts'

/** An opened data dir with its database, and the way out. */
export interface OpenHome {
  readonly home: Home
  readonly kind: 'embedded' | 'external'
  readonly settings: Settings
  /** Closes the connection; the last user of an embedded server stops it. */
  close(): Promise<void>
}

/** The database of a data dir: DATABASE_URL when it is set, else the embedded server, started when it is not up. */
export async function openDatabaseOf(
  options: GlobalOptions,
  dataDir: string,
  say: (line: string) => void,
): Promise<{ url: string; kind: OpenHome['kind']; leave(): Promise<void> }> {
  const url = options.databaseUrl
  if (url) return { url, kind: 'external', leave: async () => {} }
  const lease = await enterServer(dataDir, { say })
  return {
    url: urlOf(lease.address),
    kind: 'embedded',
    leave: async () => {
      await lease.leave()
    },
  }
}

/** Opens a data dir: its directory, its database with an up-to-date schema, and this machine's row. */
export async function openHome(
  options: GlobalOptions,
  create: 'never' | 'if-empty' | 'force',
  say: (line: string) => void,
  connection: DatabaseOptions = { name: applicationName('cli') },
): Promise<OpenHome> {
  const dataDir = openDataDir(options.dataDir, create)
  const id = await dataDirId(dataDir, () => {
    say(`${dataDir} is a copy of another data dir: it gets an identity of its own`)
    const torn = forgetOriginalServer(dataDir)
    if (torn) say('its database was in use while it was copied: should it be damaged, end what uses the original and copy it again')
  })
  const server = await openDatabaseOf(options, dataDir, say)
  let db: Home['db'] | undefined
  try {
    db = openDatabase(server.url, { ...connection, prepare: server.kind === 'embedded' })
    const applied = await migrate(db, server.url, say)
    if (applied.length > 0) say(`database schema: applied ${applied.join(', ')}`)
    const machine = await currentMachine(db)
    const home = { db, databaseUrl: server.url, embedded: server.kind === 'embedded', machineId: machine.id, dataDir, dataDirId: id }
    if (Removal.begun(dataDir).length > 0) await (await import('../machines/deletion.ts')).settleDeletions(home)
    const open = db
    const close = async () => {
      await open.destroy()
      await server.leave()
    }
    return { home, kind: server.kind, settings: options.settings, close }
  } catch (error) {
    await db?.destroy().catch(() => {})
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
export async function asProcess<T>(home: Home, processType: ProcessType, work: (id: string) => Promise<T>): Promise<T> {
  const { id } = await insertRunning(
    home,
    { processType, parentId: await startedBy(home), runnerId: null, pwd: home.dataDir, cmd: shownCommand(process.argv) },
    await ownIdentity(),
  )
  let code: number = EXIT.failed
  try {
    const value = await work(id)
    code = Number(process.exitCode ?? EXIT.ok)
    return value
  } catch (error) {
    if (error instanceof AppError) code = error.exitCode
    throw error
  } finally {
    await markEnded(home.db, id, { code, signal: null }).catch(() => {})
  }
}

/** Where the lines of runners and workers are kept. */
export function runnerLog(dataDir: string): string {
  return join(dataDir, 'logs', 'runner.log')
}
