import { createReadStream } from 'node:fs'
import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdDecompress } from 'node:zlib'
import { sql } from 'kysely'
import { from as copyFrom } from 'pg-copy-streams'
import { AppError, UsageError } from '../../base/errors.ts'
import { own } from '../../base/own.ts'
import { applicationName, type Database } from '../database.ts'
import { lockForMigration, migrateWithin, newestSchema, schemaVersion } from '../migrate.ts'
import { archiveTables, type CopiedTable, copied, type Extent, quoted } from './archive-tables.ts'
import type { BackupFile } from './backup-file.ts'
import { withBareTables } from './bare-tables.ts'
import { CopyText } from './copy-text.ts'
import { type LeftOut, leaveOutBinaries, leaveOutFolders, leaveOutSettings, type MayHave } from './left-out.ts'
import { type MoveMark, markCopy, unmark } from './move-mark.ts'
import { rehome, renamed, renamedIn } from './rehome.ts'
import { inSession, prepareToCopy, type Session } from './session.ts'

/** Enough to sort most indexes in memory, on any machine that runs a browser. */
const MEMORY = { maintenance_work_mem: '256MB' }

export interface RestoreOptions {
  /** Settles what was in progress when the backup was made. */
  readonly settle: (tx: Database) => Promise<void>
  /** Whether a row may have this setting. Others are left out, as are programs. None: the backup is our own. */
  readonly mayHave?: MayHave | undefined
  /** Nobody else uses this database. */
  readonly isOurs: boolean
  readonly extent?: Extent
  /** A move's: its mark on the copy until that is in use. An earlier copy with that mark is replaced. */
  readonly mark?: MoveMark
  /** Called when the rows of a table are in. */
  readonly onTable?: (name: string, rows: number) => void
  /** The node of the data dir that gets the files; undefined: they stay where they are. */
  readonly here?: string | undefined
  readonly stop: AbortSignal
}

/**
 * Fills an empty database from a backup, in one transaction: creates the schema of the backup, loads the rows, and
 * migrates to the current schema. Throws UsageError, and has changed nothing, when the backup has a newer schema, or an
 * archive exists already.
 * @returns what was left out of it
 */
export async function readBackup(url: string, backup: BackupFile, options: RestoreOptions): Promise<LeftOut> {
  const { settle, mayHave, isOurs, extent, mark, here, stop } = options
  const { header, trailer } = backup
  if (header.schema > newestSchema())
    throw new UsageError(
      `the backup has schema version ${header.schema}, this program knows ${newestSchema()}`,
      `it was made by archivebox-ts ${header.version}: install that version, or a newer one`,
    )
  const restore = async (session: Session): Promise<LeftOut> => {
    const { tx } = session
    await prepareToCopy(tx, MEMORY)
    await lockForMigration(tx)
    const isCopy = mark !== undefined && (await unmark(tx, mark))
    await requireEmpty(tx, header.schema, isOurs, isCopy)
    await migrateWithin(tx, header.schema)
    const tables = await sameTables(tx, backup, extent)
    const names = tables.map(({ name }) => name)
    await sql.raw(`truncate ${names.map(quoted).join(', ')}`).execute(tx)
    let folders: string[] = []
    await withBareTables(tx, names, async () => {
      await loadRows(session, backup, options)
      folders = await leaveOutFolders(tx)
    })
    for (const { table, column, last } of trailer.sequences)
      await sql`select setval(pg_get_serial_sequence(${quoted(table)}, ${column}), ${last}::bigint)`.execute(tx)
    await migrateWithin(tx)
    if (mayHave) await sql`delete from file_job`.execute(tx) // A stranger says nothing about what is removed.
    if (here !== undefined) await rehome(tx, header, here)
    const settings = mayHave ? await leaveOutSettings(tx, mayHave) : []
    const binaries = mayHave ? await leaveOutBinaries(tx) : 0
    await settle(tx) // It knows the current tables.
    if (mark) await markCopy(tx, mark)
    return { settings, binaries, folders }
  }
  return await inSession(url, applicationName('restore', mark?.dataDirId), (db) => db.transaction(), restore, stop)
}

/** What the first command on a new data dir writes. */
const OF_ANY_START = [
  ...['machine', 'process', 'runner_term', 'lead', 'node', 'queue_sample', 'binary'],
  ...['row_change', 'row_total', 'ended_total', 'transition'],
]

/** Whether a database has more than the first commands on a new data dir write. */
export async function hasArchive(tx: Database): Promise<boolean> {
  for (const { name } of await archiveTables(tx)) {
    if (OF_ANY_START.includes(name)) continue
    const { rows } = await sql`select from ${sql.table(name)} limit 1`.execute(tx)
    if (rows.length > 0) return true
  }
  return false
}

/** Leaves the schema of the backup, or none. */
async function requireEmpty(tx: Database, schema: number, isOurs: boolean, isCopy: boolean): Promise<void> {
  const current = await schemaVersion(tx)
  if (current === 0) return
  await sql`lock table process in access exclusive mode`.execute(tx)
  if (!isCopy && (await hasArchive(tx)))
    throw new UsageError(
      'there is an archive here already: a backup does not go over it',
      'restore into a new data dir (--data-dir), or into an empty database',
    )
  const { rows } = await sql`
    select from process where worker_type in ('worker_runner', 'runner_waiting') and status in ('running', 'draining')
    limit 1`.execute(tx)
  if (rows.length > 0) throw new UsageError('a runner works on this database', 'stop it first')
  if (current === schema) return
  if (!isOurs)
    throw new UsageError(
      `this database has schema version ${current} already, and the backup ${schema}`,
      'restore into an empty database',
    )
  await sql`drop schema public cascade`.execute(tx)
  await sql`create schema public`.execute(tx)
  await lockForMigration(tx)
}

/** The tables of the backup, when this program's schema of that version has the same ones with the same columns. */
async function sameTables(
  tx: Database,
  { path, header }: BackupFile,
  extent?: Extent,
): Promise<readonly CopiedTable[]> {
  const inWords = (tables: readonly CopiedTable[]) => tables.map(copied).sort().join()
  const here = await archiveTables(tx, extent)
  if (inWords(here) === inWords(header.tables)) return here
  throw new UsageError(`${path} has other tables than schema version ${header.schema} makes here`)
}

async function loadRows(
  { client }: Session,
  backup: BackupFile,
  { here, stop, onTable }: RestoreOptions,
): Promise<void> {
  const { header, trailer, body, path } = backup
  const file = createReadStream(path, { start: body.start, end: body.end - 1, highWaterMark: 1_048_576 })
  const chunks = new PassThrough()
  const reading = pipeline(file, createZstdDecompress({ chunkSize: 262_144 }), chunks, { signal: stop })
  reading.catch(() => {}) // Thrown where the chunks are read.
  const text = new CopyText(chunks)
  try {
    for (const table of header.tables) {
      const name = await text.table()
      const copy = client.query(copyFrom(`copy ${copied(table)} from stdin`))
      const change = renamedIn(table.name, header, here)
      await pipeline(change ? renamed(text.rows(), change) : text.rows(), copy, { signal: stop })
      if (name !== table.name || copy.rowCount !== own(trailer.rows, table.name))
        throw new AppError(`${path} does not contain what it claims: ${copy.rowCount} rows of ${name}`)
      onTable?.(table.name, copy.rowCount ?? 0)
    }
    await reading
  } finally {
    chunks.destroy()
  }
}

/** Throws AppError unless each table has as many rows as were read from it. */
export async function requireRows(tx: Database, rows: BackupFile['trailer']['rows']): Promise<void> {
  for (const [table, count] of Object.entries(rows)) {
    const found = await sql<{ count: number }>`select count(*)::float8 as count from ${sql.table(table)}`.execute(tx)
    const there = found.rows[0]!.count
    if (there !== count) throw new AppError(`${there} of ${count} rows of ${table} were copied: nothing was changed`)
  }
}
