import { realpathSync } from 'node:fs'
import { openDataDir } from '../../base/data-dir.ts'
import { AppError, UsageError } from '../../base/errors.ts'
import { applicationName, openDatabase } from '../../db/database.ts'
import { keepServer, serverStatus, stopServer, urlOf } from '../../db/embedded/server.ts'
import { migrate, schemaVersion } from '../../db/migrate.ts'
import { serverSize } from '../../db/server-identity.ts'
import { explainDatabaseError, maskPassword } from '../../db/trouble.ts'
import { Door, databaseWaitMs } from '../door.ts'
import { giveUp, openDatabaseOf } from '../home.ts'
import type { GlobalOptions } from '../options.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'

/** `db url`: the one place that prints a URL with its password, since that is what it is asked for. */
export async function dbUrl(options: GlobalOptions): Promise<void> {
  const url = options.databaseUrl
  if (url) return void process.stdout.write(`${url}\n`)
  const status = await serverStatus(openDataDir(options.dataDir, 'never'))
  if (!status.address) throw new AppError('the embedded server is not running', { hint: 'archivebox-ts db start' })
  process.stdout.write(`${urlOf(status.address)}\n`)
}

/** `db start`: starts the embedded server and leaves it running, whoever comes and goes. */
export async function dbStart(options: GlobalOptions): Promise<void> {
  refuseExternal(options, 'start')
  const dataDir = openDataDir(options.dataDir, 'never')
  const say = (line: string) => terminal.say(line)
  const door = new Door(dataDir, databaseWaitMs(options), say)
  const server = await openDatabaseOf(options, dataDir, say, door)
  const db = openDatabase(server.url, { name: applicationName('cli') })
  try {
    await door.connect(server, () => migrate(db, server.url, say))
    door.passed()
    keepServer(dataDir)
  } finally {
    await giveUp(db)
    await server.leave()
  }
  say(`${server.wasUp ? 'it was running already' : 'started'}; it stays up until archivebox-ts db stop`)
}

/** `db stop`: stops the embedded server. */
export async function dbStop(options: GlobalOptions, { force }: { force?: boolean }): Promise<void> {
  refuseExternal(options, 'stop')
  const stopped = await stopServer(openDataDir(options.dataDir, 'never'), { force: force === true })
  terminal.say(stopped ? 'stopped' : 'it was not running')
}

/** `db status`: one record. */
export async function dbStatus(options: GlobalOptions): Promise<void> {
  const record = options.databaseUrl
    ? await external(options, options.databaseUrl)
    : await embedded(realpathSync(openDataDir(options.dataDir, 'never')))
  if (wantsJson(options)) return printRecord(record)
  for (const [key, value] of Object.entries(record)) process.stdout.write(`${key.padEnd(16)} ${value ?? '-'}\n`)
}

async function embedded(dataDir: string) {
  const status = await serverStatus(dataDir)
  return {
    kind: 'embedded',
    running: status.state === 'running',
    state: status.state,
    pid: status.pid,
    server_version: status.majorVersion,
    pgdata: status.pgdata,
    log: status.log,
    url: status.address ? urlOf(status.address) : null,
  }
}

async function external(options: GlobalOptions, url: string) {
  const door = new Door(options.dataDir, databaseWaitMs(options), (line) => terminal.say(line))
  const db = openDatabase(url, { name: applicationName('cli') })
  try {
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

function refuseExternal(options: GlobalOptions, verb: string): void {
  const url = options.databaseUrl
  if (url) throw new UsageError(`db ${verb} is for the embedded server; this data dir uses ${maskPassword(url)}`)
}
