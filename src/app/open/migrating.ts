import { globSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { knownDataDirId } from '../../base/data-dir-id.ts'
import { left } from '../../base/disk-space.ts'
import { AppError } from '../../base/errors.ts'
import { sizeText } from '../../base/words.ts'
import { writeBackup } from '../../db/backup/write-backup.ts'
import type { Migrating } from '../../db/migrate.ts'
import { type MigrationPlan, planMigration } from '../../db/migration-plan.ts'
import type { Configured } from '../archive.ts'
import type { Call } from '../call.ts'
import { believeOlder } from './believe-older.ts'
import type { OpenEvent } from './events.ts'

/** A change of the schema that takes this long is reported before it begins, in seconds. */
const LONG = 5

/** Rows as compressed text take less than this share of their tables and indexes. */
const SHARE_OF_BACKUP = 1 / 4

/** The database whose schema is changed. */
export interface Changed {
  readonly url: string
  readonly dataDir: string
}

/**
 * For `migrate`, of every command: says how long a change will take when that is long, refuses one without room on the
 * disk, and writes the rows to a backup before one that writes many of them anew.
 */
export function migrating(
  { known, databaseUrl }: Pick<Configured, 'known' | 'databaseUrl'>,
  { url, dataDir }: Changed,
  makeWay: Migrating['makeWay'],
  { tell = () => {}, signal = new AbortController().signal }: Call<OpenEvent>,
): Migrating {
  const backup = join(dataDir, 'backups', 'before-upgrade.zst')
  const prepare: Migrating['prepare'] = async (db, since) => {
    const plan = await planMigration(db, since)
    requireRoom(plan, dataDir, databaseUrl === undefined ? join(dataDir, 'postgres') : undefined)
    if (plan.seconds >= LONG) tell({ event: 'schema change begins', ...plan })
    if (plan.rewritten === 0) return
    mkdirSync(dirname(backup), { recursive: true, mode: 0o700 })
    // Of one that was killed; nobody else writes it now.
    for (const part of globSync(`${basename(backup)}*.part`, { cwd: dirname(backup) }))
      rmSync(join(dirname(backup), part))
    await writeBackup(url, backup, signal, { schema: 'locked' })
    tell({ event: 'rows backed up', file: backup, schema: since })
  }
  const dataDirId = knownDataDirId(dataDir)
  return { tell, dataDirId, prepare, settle: believeOlder(known, dataDir), makeWay }
}

/** Throws AppError when a disk has too little room for this: the database's, when it is ours, or the data dir's. */
function requireRoom(plan: MigrationPlan, dataDir: string, database: string | undefined): void {
  const needs = [
    ...(database ? [{ dir: database, bytes: plan.bytes }] : []),
    ...(plan.rewritten > 0 ? [{ dir: dataDir, bytes: plan.size * SHARE_OF_BACKUP }] : []),
  ]
  for (const { dir } of needs) {
    const isSame = (other: string) => statSync(other).dev === statSync(dir).dev
    const bytes = needs.reduce((sum, need) => sum + (isSame(need.dir) ? need.bytes : 0), 0)
    const free = left(dir).bytes
    if (free >= bytes) continue
    throw new AppError(
      `the change of the schema from version ${plan.from} to ${plan.to} takes about ${sizeText(bytes)} in ${dir}, ` +
        `where ${sizeText(free)} are free`,
      { hint: 'nothing was changed; make room there, then start again' },
    )
  }
}
