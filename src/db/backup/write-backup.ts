import { createHash } from 'node:crypto'
import { type FileHandle, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { constants, createZstdCompress } from 'node:zlib'
import { sql } from 'kysely'
import { to as copyTo } from 'pg-copy-streams'
import { AppError, codeOf, messageOf, UsageError } from '../../base/errors.ts'
import { flush } from '../../base/flush.ts'
import { put } from '../../base/own.ts'
import { VERSION } from '../../base/version.ts'
import { applicationName, type Database } from '../database.ts'
import { MIGRATION_LOCK, newestSchema, schemaVersion } from '../migrate.ts'
import { hasOtherNodes, pagesOn } from '../nodes.ts'
import { archiveTables, type CopiedTable, copied, type Extent } from './archive-tables.ts'
import { type Header, headerFrame, isReplaceable, type Trailer, trailerFrame } from './backup-file.ts'
import { CopyText } from './copy-text.ts'
import { inSession, prepareToCopy, type Session } from './session.ts'

const CHUNK = 262_144

/** How a backup is written, where that differs. */
export interface WriteOptions {
  /** Whether a migration may begin, or is about to: the caller has its lock. */
  readonly schema?: 'any' | 'locked'
  readonly extent?: Extent
  /** That of the data dir; undefined: there is no other. */
  readonly node?: string | undefined
}

export interface Written extends Trailer, Required<Pick<Header, 'absent'>> {
  readonly schema: number
  /** Of the file. */
  readonly size: number
}

/** Files besides the folders of rows: settings, users' plugins and logins, and what all pages load. */
const BESIDE = [
  'archivebox.toml',
  'trusted-settings',
  'plugins/',
  'personas/',
  'machines/',
  'index.html',
  'archive/index/',
  'archive/pages/',
  'archive/urls/',
]
const FOLDERS = 'select output_dir from crawl union all select output_dir from snapshot'
/** A crawl may have a folder on several nodes, so all of those are named; rsync leaves out what is not there. */
const foldersOn = (node: string | undefined) =>
  node === undefined ? FOLDERS : `${FOLDERS} where home_node is null or home_node = '${node}'`

/**
 * Writes all rows of the archive, as of one moment, to a file, and to another one (`PATH.files`) the paths below the
 * data dir that these rows have on this node, for `rsync --files-from`. Rows may be read and written meanwhile. Each
 * file appears when it is complete, and stays as it was before. Throws UsageError when a file of another kind has its
 * name.
 */
export async function writeBackup(
  url: string,
  path: string,
  stop: AbortSignal,
  { schema = 'any', extent = 'archive', node }: WriteOptions = {},
): Promise<Written> {
  const list = `${path}.files`
  if (!(await isReplaceable(path))) throw new UsageError(`${path} is not one of our backups: it is not replaced`)
  if (!(await isOurList(list))) throw new UsageError(`${list} is not one of our lists: it is not replaced`)
  const reading = (db: Database) => db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
  const write = async (session: Session) => {
    if (schema === 'any') await keepSchema(session.tx) // First: the first statement decides what the transaction sees.
    await prepareToCopy(session.tx)
    const current = await schemaVersion(session.tx)
    if (current === 0) throw new AppError('there is no archive in this database')
    // Its tables come from our migrations.
    if (current > newestSchema())
      throw new AppError(
        `a newer archivebox-ts has changed the database to schema ${current}, this one would lose rows`,
        {
          hint: 'make backups where that version is, or install it here',
        },
      )
    const written = await replace(path, async (file) => await writeRows(session, file, stop, { extent, node }))
    await replace(list, async (file) => {
      await file.writeFile(BESIDE.map((name) => `${name}\n`).join(''))
      await pipeline(session.client.query(copyTo(`copy (${foldersOn(node)}) to stdout`)), writerOf(file), {
        signal: stop,
      })
    })
    return written
  }
  return await inSession(url, applicationName('backup'), reading, write, stop)
}

/** Does not wait: this transaction must not see anything older than its lock. */
async function keepSchema(tx: Database): Promise<void> {
  const { rows } = await sql<{ kept: boolean }>`
    select pg_try_advisory_xact_lock_shared(${MIGRATION_LOCK}) as kept`.execute(tx)
  if (!rows[0]!.kept) throw new AppError('the database is being migrated', { hint: 'try again when that is done' })
}

/** Whether a list may replace this file: there is none, or it is an earlier list. */
async function isOurList(path: string): Promise<boolean> {
  try {
    return (await readFile(path, 'utf8')).startsWith(`${BESIDE[0]}\n`)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return true
    throw new UsageError(`cannot replace ${path}: ${messageOf(error)}`)
  }
}

/** Writes a temporary file, and renames it when it is on disk. */
async function replace<T>(path: string, write: (file: FileHandle) => Promise<T>): Promise<T> {
  const aside = `${path}.${process.pid}.part`
  const file = await open(aside, 'wx', 0o600).catch((error: unknown) => {
    throw new UsageError(`cannot write ${path}: ${messageOf(error)}`)
  })
  try {
    const done = await write(file)
      .then(async (value) => {
        await file.sync()
        return value
      })
      .finally(() => file.close())
    await rename(aside, path)
    await flush([dirname(path)]) // So that the new name survives a loss of power, too.
    return done
  } catch (error) {
    await rm(aside, { force: true })
    throw error
  }
}

async function writeRows(
  { tx, client }: Session,
  file: FileHandle,
  stop: AbortSignal,
  { extent, node }: Required<Pick<WriteOptions, 'extent'>> & Pick<WriteOptions, 'node'>,
): Promise<Written> {
  const tables = await archiveTables(tx, extent)
  const schema = await schemaVersion(tx)
  const sha256 = createHash('sha256')
  const absent = node === undefined ? undefined : await absentFrom(tx, node)
  const header = headerFrame({ version: VERSION, schema, tables, ...(await nowOn(tx)), node, absent })
  sha256.update(header)
  await file.writeFile(header)
  const rows: Record<string, number> = {}
  const zstd = createZstdCompress({ chunkSize: CHUNK, params: { [constants.ZSTD_c_checksumFlag]: 1 } })
  await pipeline(textOf(client, tables, rows), zstd, writerOf(file, sha256), { signal: stop })
  const trailer = { rows, sequences: await sequencesOf(tx, tables), sha256: sha256.digest('hex') }
  await file.writeFile(trailerFrame(trailer))
  return { ...trailer, schema, absent, size: (await file.stat()).size }
}

/** The other nodes that have files of pages. */
async function absentFrom(tx: Database, node: string): Promise<Header['absent']> {
  if (!(await hasOtherNodes({ db: tx, dataDirId: node }))) return []
  const { rows } = await sql<{ node: string; pages: number }>`
    select home_node as node, count(*)::integer as pages from snapshot
    where home_node <> ${node} group by home_node`.execute(tx)
  const counted = await pagesOn(tx, new Map(rows.map((row) => [row.node, row.pages])))
  return counted.map(({ id, name, pages }) => ({ id, name, pages }))
}

async function* textOf(
  client: Session['client'],
  tables: readonly CopiedTable[],
  rows: Record<string, number>,
): AsyncGenerator<Buffer | string> {
  for (const table of tables) {
    yield CopyText.begin(table.name)
    const copy = client.query(copyTo(`copy ${copied(table)} to stdout`, { highWaterMark: CHUNK }))
    yield* copy as AsyncIterable<Buffer>
    put(rows, table.name, copy.rowCount)
    yield CopyText.end
  }
}

function writerOf(file: FileHandle, sha256?: ReturnType<typeof createHash>) {
  return async (chunks: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of chunks) {
      sha256?.update(chunk)
      await file.writeFile(chunk)
    }
  }
}

async function nowOn(tx: Database): Promise<{ readonly made_at: string; readonly server_version: string }> {
  const { rows } = await sql<{ made_at: Date; server_version: string }>`
    select now() as made_at, current_setting('server_version') as server_version`.execute(tx)
  return { made_at: rows[0]!.made_at.toISOString(), server_version: rows[0]!.server_version }
}

/** The current numbers of identity columns: at least those of any row that was read. */
async function sequencesOf(tx: Database, tables: readonly CopiedTable[]): Promise<Trailer['sequences']> {
  const { rows } = await sql<{ table: string; column: string; sequence: string }>`
    select c.table_name as "table", c.column_name as "column",
           pg_get_serial_sequence(quote_ident(c.table_name), c.column_name) as sequence
    from information_schema.columns c
    where c.is_identity = 'YES' and c.table_schema = (
        select relnamespace::regnamespace::text from pg_class where oid = 'schema_migration'::regclass)
      and c.table_name = any(${tables.map(({ name }) => name)}::text[])
    order by 1, 2`.execute(tx)
  const last: { table: string; column: string; last: number }[] = []
  for (const { table, column, sequence } of rows) {
    const read = await sql<{ last: number }>`select last_value::float8 as last from ${sql.raw(sequence)}`.execute(tx)
    last.push({ table, column, last: read.rows[0]!.last })
  }
  return last
}
