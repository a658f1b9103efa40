import { existsSync, realpathSync } from 'node:fs'
import { databaseStatus } from '../../app/database/database-status.ts'
import { type Changed, migrating } from '../../app/open/migrating.ts'
import { leavingAlone } from '../../app/open/older-runner.ts'
import { ENVIRONMENT } from '../../base/config.ts'
import { openDataDir } from '../../base/data-dir.ts'
import { AppError, UsageError } from '../../base/errors.ts'
import { withPassword } from '../../base/secrets.ts'
import { duration, shellWord, sizeText } from '../../base/words.ts'
import { movedTo } from '../../db/embedded/moved.ts'
import { keepServer, serverStatus, stopServer, urlOf } from '../../db/embedded/server.ts'
import { migrate, migrations, newestSchema, refuseNewerSchema } from '../../db/migrate.ts'
import { planMigration } from '../../db/migration-plan.ts'
import { maskPassword } from '../../db/trouble.ts'
import { withBareDatabase } from '../home.ts'
import { interruptible } from '../interrupts.ts'
import { sayMeanwhile } from '../meanwhile.ts'
import type { GlobalOptions } from '../options.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'
import { pagesIn, untilStopped } from './restore.ts'

/** `db url`: the only place that prints a URL with its password, since that is its purpose. */
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
  await withBareDatabase(options, 'never', async (bare) => {
    await migrate(bare.db, bare.url, changing(options, bare))
    keepServer(bare.dataDir)
    terminal.say(`${bare.wasUp ? 'it was running already' : 'started'}; it stays up until archivebox-ts db stop`)
  })
}

const changing = (options: GlobalOptions, changed: Changed) =>
  migrating(options, changed, leavingAlone, { tell: sayMeanwhile })

/** `db stop`: stops the embedded server. */
export async function dbStop(options: GlobalOptions, { force }: { force?: boolean }): Promise<void> {
  refuseExternal(options, 'stop')
  const stopped = await stopServer(openDataDir(options.dataDir, 'never'), { force: force === true })
  terminal.say(stopped ? 'stopped' : 'it was not running')
}

/** `db status`: one record. */
export async function dbStatus(options: GlobalOptions): Promise<void> {
  // Only an external server is waited for.
  const record = options.databaseUrl
    ? await interruptible((signal) => databaseStatus(options, { signal, tell: sayMeanwhile }))
    : await databaseStatus(options, {})
  if (wantsJson(options)) return printRecord(record)
  for (const [key, value] of Object.entries(record)) process.stdout.write(`${key.padEnd(16)} ${value ?? '-'}\n`)
}

/** `db migrate`: brings the schema up to date, as all commands do that need it; `--dry-run` reports what is missing. */
export async function dbMigrate(options: GlobalOptions, { dryRun }: { dryRun?: boolean }): Promise<void> {
  await withBareDatabase(options, 'never', async (bare) => {
    const from = await refuseNewerSchema(bare.db)
    const to = newestSchema()
    const plan = dryRun && from > 0 && from < to ? await planMigration(bare.db, from) : undefined
    const names = dryRun
      ? migrations().flatMap(({ version, name }) => (version > from ? [name] : []))
      : await migrate(bare.db, bare.url, changing(options, bare))
    if (wantsJson(options)) {
      const [applied, missing] = dryRun ? [[], names] : [names, []]
      printRecord({ from, to, applied, missing, ...(plan && { seconds: plan.seconds, bytes: plan.bytes }) })
    }
    if (names.length === 0) return terminal.say(`the schema is up to date: version ${from}`)
    terminal.say(`${dryRun ? 'dry run: would apply' : 'applied'} ${names.join(', ')}: from version ${from} to ${to}`)
    if (plan) terminal.say(`takes about ${duration(plan.seconds)}, and ${sizeText(plan.bytes)} until it is done`)
  })
}

/** `db upgrade`: upgrades the embedded database to the installed major version of PostgreSQL. */
export async function dbUpgrade(options: GlobalOptions, { programs }: { programs?: string }): Promise<void> {
  refuseExternal(options, 'upgrade')
  const { upgrade } = await import('../../app/backup/upgrade.ts')
  const upgraded = await untilStopped((signal) => upgrade(options, { programs }, { signal, tell: sayMeanwhile }))
  if (!upgraded) return terminal.say('nothing to do: it already has the installed version')
  const { from, to, kept } = upgraded
  terminal.say(`upgraded from PostgreSQL ${from} to ${to}; the old database is kept in ${kept}, for you to remove`)
}

/** `db move`: moves all rows from the embedded server to a database of one's own, which is used from then on. */
export async function dbMove(options: GlobalOptions, given: string): Promise<void> {
  const url = withPassword(given, ENVIRONMENT['PGPASSWORD'])
  const { move } = await import('../../app/database/move.ts')
  const moved = await untilStopped(
    (signal) => move(options, url, { signal, tell: sayMeanwhile }),
    () => movedTo(options) === undefined,
  )
  if (wantsJson(options)) printRecord({ type: 'Move', to: maskPassword(url), ...moved })
  if (!moved) return terminal.say('nothing to do: the database of this data dir is there already')
  const { rows, kept, where, passwordFile } = moved
  if (rows) terminal.say(`moved ${pagesIn(rows)}, counted on both sides, to ${moved.to}`)
  else terminal.say(`finished the move to ${moved.to}`)
  if (passwordFile === null) terminal.say(`DATABASE_URL is set ${where}`)
  else terminal.say(`DATABASE_URL_FILE is set ${where}, to ${passwordFile}, which has the password (mode 600)`)
  const real = existsSync(kept) ? realpathSync(kept) : kept
  const folders = [...new Set([real, kept])].map(shellWord).join(' ')
  terminal.say(`the old database is kept; when all is well, remove it: rm -r ${folders}`)
}

function refuseExternal(options: GlobalOptions, verb: string): void {
  const url = options.databaseUrl
  if (url) throw new UsageError(`db ${verb} is for the embedded server; this data dir uses ${maskPassword(url)}`)
}
