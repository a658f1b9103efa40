import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { sleep } from '../base/abort.ts'
import { AppError, codeOf } from '../base/errors.ts'
import { asset } from '../base/package-root.ts'
import { applicationName, type Database, openDatabase } from './database.ts'
import type { TellDatabase } from './events.ts'
import { settleHeartbeats, UNSEEN_SECONDS } from './heartbeats.ts'
import { mayPause } from './may-pause.ts'
import type { ProcessIdentity } from './process-identity.ts'
import { identityIn } from './processes.ts'

/** The key of the advisory lock that admits one migration at a time per database; the number is arbitrary. */
export const MIGRATION_LOCK = 7_241_201

/** The schema version of a copy that is not in use yet (`backup/move-mark.ts`): the largest that there can be. */
export const UNFINISHED_MOVE = 2_147_483_647

export interface Migration {
  readonly version: number
  readonly name: string
  readonly file: string
}

/** The migrations that ship with this program: `NNNN_name.sql`, in order, never edited once released. */
export function migrations(): Migration[] {
  const folder = asset('migrations', 'db/migrations')
  return readdirSync(folder)
    .filter((file) => /^\d{4}_\w+\.sql$/.test(file))
    .sort()
    .map((file) => ({ version: Number(file.slice(0, 4)), name: file.slice(5, -4), file: join(folder, file) }))
}

/** The newest migration that this database has; 0 for an empty one. */
export async function schemaVersion(db: Database): Promise<number> {
  try {
    const { rows } = await sql<{
      version: number | null
    }>`select max(version) as version from schema_migration`.execute(db)
    return rows[0]?.version ?? 0
  } catch (error) {
    if (codeOf(error) === '42P01') return 0 // no such table: nothing was migrated yet
    throw error
  }
}

/** Whether programs that lack this migration may go on where it is applied; its head says so. */
const isAdditive = ({ file }: Migration): boolean => /^-- kind: additive$/m.test(readFileSync(file, 'utf8'))

/** A runner of an older program, by what its row has had since the first schema. */
export interface OlderRunner {
  readonly id: string
  /** Null: the schema is older than nodes. */
  readonly node: { readonly id: string; readonly name: string } | null
  readonly dataDir: string
  readonly hostname: string
  readonly pid: number
  readonly identity: ProcessIdentity | null
  readonly leads: boolean
  readonly drains: boolean
}

/** What a runner in the way does: it is gone, it ends, it was asked to and may not know yet, or nobody can ask it. */
export type Way = 'gone' | 'leaving' | 'asked' | 'stays'

/** What whoever changes a schema does besides. */
export interface Migrating {
  readonly tell: TellDatabase
  /** Ours: its older runner is in the way of an additive change, too, and taken over as always. */
  readonly dataDirId: string | undefined
  /** Called before a schema is changed, once no older runner is left; what it throws leaves everything as it is. */
  readonly prepare: (db: Database, since: number) => Promise<void>
  /** Called with what the schema was before, 0 for an empty database, in the transaction that changes it. */
  readonly settle: (tx: Database, since: number) => Promise<void>
  /** Called again and again with a runner that is in the way. */
  readonly makeWay: (runner: OlderRunner, db: Database) => Promise<Way>
}

/**
 * Brings the schema up to date; safe to call from many processes at once. Returns the names that were applied. Waits
 * for a runner of an older program, whose schema must not change under it: for one that is exiting, as long as that
 * takes; otherwise a moment, until its heartbeat is old. Under an additive change those of other data dirs go on.
 * Throws AppError when it does not end, and when a newer program has changed the schema so that an older one must not
 * write to it.
 */
export async function migrate(db: Database, url: string, migrating: Migrating): Promise<string[]> {
  const { tell, makeWay } = migrating
  const current = await refuseNewerSchema(db)
  if (current >= newestSchema()) return []
  // No deadline: changing a large table may take long.
  const unhurried = openDatabase(url, {
    name: applicationName('migration'),
    connections: 1,
    statementMs: Number.POSITIVE_INFINITY,
  })
  try {
    const gone: string[] = []
    let begun = performance.now()
    for (let isTold = false; ; ) {
      const done = await unhurried.transaction().execute((tx) => apply(tx, gone, migrating))
      if (!('older' in done)) return done.applied
      const { older } = done
      const way = await makeWay(older, unhurried)
      if (way === 'gone') {
        gone.push(older.id)
        continue
      }
      if (way === 'leaving') begun = performance.now()
      const named = nameOf(older)
      if (performance.now() - begun > PATIENCE_MS)
        throw new AppError(`${named}, and the database cannot be changed under it`, {
          hint: `archivebox-ts run, in its data dir, takes over; or stop it (kill ${older.pid}), then start again`,
        })
      if (!isTold) tell({ event: 'waiting for older runner', runner: named, isAsked: way !== 'stays' })
      isTold = true
      await sleep(way === 'leaving' ? LOOK_MS / 5 : LOOK_MS)
    }
  } finally {
    await unhurried.destroy()
  }
}

/**
 * The schema version of a database. Throws AppError when a newer program has changed it in a way that an older one must
 * not work with.
 */
export async function refuseNewerSchema(db: Database): Promise<number> {
  const current = await schemaVersion(db)
  if (await mayWorkWith(db, current)) return current
  if (current === UNFINISHED_MOVE)
    throw new AppError('this database is the copy of a db move that is not finished', {
      hint: 'archivebox-ts db move DATABASE_URL, in the data dir that moves, finishes it',
    })
  throw new AppError(`the database has schema version ${current}, this program knows ${newestSchema()}`, {
    hint: 'it was used by a newer archivebox-ts: install that version, or use another database',
  })
}

/** Whether this program may work on a database with its schema: all that is newer there is additive. */
export async function mayWorkWith(db: Database, schema: number): Promise<boolean> {
  const known = newestSchema()
  if (schema <= known) return true
  const { rows } = await sql`
    select from schema_migration where version > ${known} and not additive limit 1`.execute(db)
  return rows.length === 0
}

/** The migrations that were applied, or the runner of an older program that is in the way. */
type Done = { readonly applied: string[] } | { readonly older: OlderRunner }

/** Keeps other migrations out for the rest of the transaction. */
export async function lockForMigration(tx: Database): Promise<void> {
  await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK})`.execute(tx)
  await sql`
    create table if not exists schema_migration (
      version integer primary key, name text not null, applied_at timestamptz not null default now())`.execute(tx)
}

/** The newest schema that this program knows; looked up once, since a runner without descriptors left asks, too. */
export const newestSchema = (): number => {
  newest ??= migrations().at(-1)?.version ?? 0
  return newest
}
let newest: number | undefined

/** Applies what is missing up to a version, by default everything, under the caller's lock. @returns the names */
export async function migrateWithin(tx: Database, upTo = Number.POSITIVE_INFINITY): Promise<string[]> {
  const { rows } = await sql<{ version: number }>`select version from schema_migration`.execute(tx)
  const applied = new Set(rows.map(({ version }) => version))
  const missing = migrations().filter(({ version }) => version <= upTo && !applied.has(version))
  for (const migration of missing) {
    await sql.raw(readFileSync(migration.file, 'utf8')).execute(tx)
    const { version, name } = migration
    await sql`insert into schema_migration (version, name) values (${version}, ${name})`.execute(tx)
    if (isAdditive(migration))
      await sql`update schema_migration set additive = true where version = ${version}`.execute(tx)
  }
  return missing.map(({ name }) => name)
}

async function apply(tx: Database, gone: readonly string[], { prepare, settle, dataDirId }: Migrating): Promise<Done> {
  await lockForMigration(tx)
  const since = await schemaVersion(tx)
  if (since > 0 && since < newestSchema()) {
    await settleHeartbeats(tx)
    const goOn = migrations().every((each) => each.version <= since || isAdditive(each))
    const inTheWay = () => olderRunner(tx, gone, since, goOn ? (dataDirId ?? null) : undefined)
    const early = await inTheWay()
    if (early) return { older: early }
    await mayPause(tx) // A backup may take long.
    await prepare(tx, since)
    // Until the new schema is there, no runner can register or be promoted, unless it may go on with it.
    if (!goOn) await sql`lock table process in access exclusive mode`.execute(tx)
    const older = await inTheWay()
    if (older) return { older }
  }
  const applied = await migrateWithin(tx)
  if (applied.length > 0) await settle(tx, since)
  return { applied }
}

const nameOf = ({ leads, pid, hostname, node }: OlderRunner) =>
  `a runner of an older archivebox-ts ${leads ? 'leads' : 'stands by'} ` +
  `(pid ${pid} on ${hostname}${node ? `, node ${node.name}` : ''})`

const PATIENCE_MS = (UNSEEN_SECONDS + 5) * 1000
const LOOK_MS = 500

/** The first schema that knows nodes. */
export const WITH_NODES = 46
const NODE = sql`(select jsonb_build_object('id', n.id, 'name', n.name) from node n where n.id = p.data_dir_id)`

/**
 * A runner that leads or waits while the schema is old is of an older program and would continue with what it knows.
 * The heartbeat of one that was killed grows old while we wait.
 * @param only of this data dir, null of none; by default of any
 */
async function olderRunner(
  tx: Database,
  gone: readonly string[],
  since: number,
  only?: string | null,
): Promise<OlderRunner | undefined> {
  const { rows } = await sql<{
    id: string
    data_dir: string
    hostname: string
    pid: number
    boot_id: string | null
    pid_namespace: string | null
    start_ticks: number | null
    leads: boolean
    drains: boolean
    node: OlderRunner['node']
  }>`
    select p.id, p.data_dir, m.hostname, p.pid, p.boot_id, p.pid_namespace, p.start_ticks,
      p.worker_type = 'worker_runner' as leads, p.status = 'draining' as drains,
      ${since >= WITH_NODES ? NODE : sql`null`} as node
    from process p join machine m on m.id = p.machine_id
    where p.worker_type in ('worker_runner', 'runner_waiting') and p.status in ('running', 'draining')
      and p.heartbeat_at > now() - make_interval(secs => ${UNSEEN_SECONDS}) and p.id <> all(${gone}::uuid[])
      ${only === undefined ? sql`` : sql`and p.data_dir_id = ${only}`}
    order by leads desc, p.seq desc limit 1`.execute(tx)
  const [runner] = rows
  if (!runner) return undefined
  const { id, data_dir: dataDir, hostname, pid, leads, drains, node } = runner
  return { id, dataDir, hostname, pid, leads, drains, node, identity: identityIn(runner) }
}
