import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { editConfig } from '../../base/config-edit.ts'
import { CONFIG_FILE } from '../../base/config-file.ts'
import { openDataDir } from '../../base/data-dir.ts'
import { dataDirId } from '../../base/data-dir-id.ts'
import { left } from '../../base/disk-space.ts'
import { AppError, UsageError } from '../../base/errors.ts'
import { failpoint } from '../../base/failpoint.ts'
import { own } from '../../base/own.ts'
import { replaceFile } from '../../base/replace-file.ts'
import { hasPassword } from '../../base/secrets.ts'
import { sizeText } from '../../base/words.ts'
import { isMarked, type MoveMark, unmark } from '../../db/backup/move-mark.ts'
import { refuseAsTarget } from '../../db/backup/move-target.ts'
import { isSamePlace } from '../../db/connection-url.ts'
import { applicationName, type Database, openDatabase, ping } from '../../db/database.ts'
import { asideOf, withClusterAlone } from '../../db/embedded/alone.ts'
import { clusterOf } from '../../db/embedded/cluster.ts'
import { forgetOriginalServer } from '../../db/embedded/copied.ts'
import { markMoved, movedTo } from '../../db/embedded/moved.ts'
import { migrate } from '../../db/migrate.ts'
import { terminateBackendsOf } from '../../db/runners.ts'
import { serverSize } from '../../db/server-identity.ts'
import { explainDatabaseError, maskPassword } from '../../db/trouble.ts'
import type { Configured } from '../archive.ts'
import { copyDatabase } from '../backup/copy-database.ts'
import type { Call } from '../call.ts'
import { Door, databaseWaitMs } from '../open/door.ts'
import type { OpenEvent } from '../open/events.ts'
import { giveUp } from '../open/give-up.ts'
import { migrating } from '../open/migrating.ts'
import { leavingAlone } from '../open/older-runner.ts'
import { sourceOfDatabase } from '../settings/database-source.ts'

/** What a move says while it goes on. */
export type MoveEvent =
  | OpenEvent
  /** It copies a database of `bytes`, needs so much room in the data dir meanwhile, and may take so long. */
  | {
      readonly event: 'moving database'
      readonly to: string
      readonly bytes: number
      readonly neededBytes: number
      readonly seconds: number
    }
  | { readonly event: 'table moved'; readonly table: string; readonly rows: number }

export interface Moved {
  /** To be shown. */
  readonly to: string
  /** How many rows each table has, counted on both sides; null: a move that was cut off has made the copy. */
  readonly rows: Readonly<Record<string, number>> | null
  /** The folder of the embedded database, which nothing uses any more. */
  readonly kept: string
  /** Where the URL is set: `in archivebox.toml`. */
  readonly where: string
  /** The file that has it, because of its password, and is named there; null: it has none, or was set before. */
  readonly passwordFile: string | null
}

/** Compressed rows, of the database that has them. */
const SHARE_OF_ROWS = 1 / 4
const MB = 1_000_000
/** Of the database: reading, writing and making indexes, on two busy cores (`../../db/embedded/upgrade-room.ts`). */
const BYTES_PER_SECOND = 8_000_000
const LEAST_SECONDS = 5

/** Beside archivebox.toml, which everybody may read. */
const PASSWORD_FILE = 'database-url'

/**
 * Moves all rows of a data dir from its embedded server to a database of somebody's own, and uses that from then on.
 * Nobody may use the archive meanwhile. Until the copy is whole and counted, the embedded database is the one that
 * counts; then it is marked, and never starts again. Killed at any moment, it is repeated: before that mark it begins
 * anew, after it it does what is left. Throws AppError.
 * @returns undefined: this data dir has moved there before
 */
export async function move(
  configured: Configured,
  url: string,
  call: Required<Pick<Call<MoveEvent>, 'signal' | 'tell'>>,
): Promise<Moved | undefined> {
  const dataDir = openDataDir(configured.dataDir, 'never')
  refuseContradiction(configured, url)
  const copied = () => call.tell({ event: 'copied data dir', dataDir, torn: forgetOriginalServer(dataDir) })
  const mark = { dataDirId: await dataDirId(dataDir, copied) }
  const db = openDatabase(url, { name: applicationName('cli') })
  try {
    const door = new Door(dataDir, databaseWaitMs(configured.settings), call)
    await door.connect({ url, revive: async () => {} }, () => ping(db))
    door.passed()
    if (movedTo(clusterOf(dataDir)) !== undefined) return await finish(configured, { db, url, dataDir, mark })
    if (!(await isMarked(db, mark))) await refuseAsTarget(db)
    return await withClusterAlone(dataDir, async ({ cluster, whileRunning }) => {
      if (movedTo(cluster) !== undefined) return await finish(configured, { db, url, dataDir, mark })
      const aside = asideOf(cluster)
      rmSync(aside, { recursive: true, force: true })
      await terminateBackendsOf({ db }, [mark.dataDirId]) // Of a move that was killed.
      mkdirSync(aside, { mode: 0o700 })
      const input = { to: url, file: join(aside, 'rows.zst'), dataDir, mark }
      const rows = await whileRunning((from) => copy(configured, { ...input, from }, call)).finally(() =>
        rmSync(aside, { recursive: true }),
      )
      await failpoint('move.stopped')
      call.signal.throwIfAborted()
      markMoved(cluster, maskPassword(url))
      await failpoint('move.marked')
      return { ...(await finish(configured, { db, url, dataDir, mark }))!, rows }
    })
  } catch (error) {
    throw explainDatabaseError(error, url)
  } finally {
    await giveUp(db)
  }
}

/** Copies all rows, with the schema of now. */
async function copy(
  configured: Configured,
  input: Parameters<typeof copyDatabase>[1],
  { signal, tell }: Required<Pick<Call<MoveEvent>, 'signal' | 'tell'>>,
): Promise<Readonly<Record<string, number>>> {
  const { from, to, dataDir } = input
  const db = openDatabase(from, { name: applicationName('cli') })
  try {
    await migrate(db, from, migrating(configured, { url: from, dataDir }, leavingAlone, { signal, tell }))
    const { size: bytes } = await serverSize(db)
    const neededBytes = bytes * SHARE_OF_ROWS + configured.settings.config.DISK_FLOOR * MB
    const free = left(dataDir).bytes
    if (free < neededBytes)
      throw new AppError(`the move needs ${sizeText(neededBytes)} in ${dataDir}, where ${sizeText(free)} are free`, {
        hint: 'make room there, then start again: nothing was changed',
      })
    const seconds = LEAST_SECONDS + bytes / BYTES_PER_SECOND
    tell({ event: 'moving database', to: maskPassword(to), bytes, neededBytes, seconds })
  } finally {
    await giveUp(db)
  }
  const onTable = (table: string, rows: number) => tell({ event: 'table moved', table, rows })
  const rows = await copyDatabase(configured.known, { ...input, onTable }, signal)
  await failpoint('move.copied')
  return rows
}

interface Copied {
  readonly db: Database
  readonly url: string
  readonly dataDir: string
  readonly mark: MoveMark
}

/** What is left to do when the copy counts: the settings name it, and whoever has them may use it. */
async function finish(configured: Configured, { db, url, dataDir, mark }: Copied): Promise<Moved | undefined> {
  const cluster = clusterOf(dataDir)
  if (!(await isMarked(db, mark))) {
    if (configured.databaseUrl !== undefined) return undefined // As it is the same place, that is done.
    throw new UsageError(
      `the database of this data dir has moved to ${movedTo(cluster)}: ${maskPassword(url)} is another one`,
      'name that one',
    )
  }
  const setting = await keepSetting(configured, dataDir, url)
  rmSync(cluster.keepMark, { force: true })
  await failpoint('move.configured')
  await unmark(db, mark)
  await failpoint('move.unmarked')
  return { to: maskPassword(url), rows: null, kept: cluster.pgdata, ...setting }
}

/** Has the settings name the database, unless they do so already, such as by the environment of a service. */
async function keepSetting(
  { sources }: Configured,
  dataDir: string,
  url: string,
): Promise<Pick<Moved, 'where' | 'passwordFile'>> {
  const set = sources.find(({ name, texts }) => name !== 'command line' && own(texts, 'DATABASE_URL')?.trim())
  if (set) return { where: set.where, passwordFile: null }
  const passwordFile = hasPassword(url) ? join(dataDir, PASSWORD_FILE) : null
  if (passwordFile !== null) replaceFile(passwordFile, `${url}\n`)
  await editConfig(
    dataDir,
    new Map([
      passwordFile === null ? (['DATABASE_URL', url] as const) : (['DATABASE_URL_FILE', passwordFile] as const),
    ]),
  )
  return { where: `in ${CONFIG_FILE}`, passwordFile }
}

/** Throws UsageError when a setting names another database: it would override what the move writes, or be lost. */
function refuseContradiction(configured: Configured, url: string): void {
  const { databaseUrl } = configured
  if (databaseUrl === undefined || isSamePlace(databaseUrl, url)) return
  throw new UsageError(
    `DATABASE_URL, set ${sourceOfDatabase(configured)?.where}, names another database: ${maskPassword(databaseUrl)}`,
    'db move moves the embedded one: remove that setting first, which would win over archivebox.toml',
  )
}
