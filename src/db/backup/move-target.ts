import { sql } from 'kysely'
import { UsageError } from '../../base/errors.ts'
import type { Database } from '../database.ts'
import { schemaVersion, UNFINISHED_MOVE } from '../migrate.ts'
import { hasArchive } from './read-backup.ts'

/** The oldest PostgreSQL that works. */
export const OLDEST_POSTGRES = 14

interface Target {
  readonly version: string
  readonly number: number
  readonly encoding: string
  readonly database: string
  readonly account: string
  readonly is_standby: boolean
  readonly schema: string | null
  readonly may_create: boolean | null
  readonly others: readonly string[]
}

/**
 * Throws UsageError when all rows of an archive cannot be moved to a database, as far as can be seen before: it is too
 * old, not in UTF-8, a standby, not ours to make tables in, or not empty.
 */
export async function refuseAsTarget(db: Database): Promise<void> {
  const target = await lookAt(db)
  const { version, number, encoding, database, account, schema } = target
  if (Math.floor(number / 10_000) < OLDEST_POSTGRES)
    throw new UsageError(
      `that server is PostgreSQL ${version}: ${OLDEST_POSTGRES} or newer is needed`,
      'upgrade it first, or use another one',
    )
  if (target.is_standby) throw new UsageError('that server is a standby, and read-only', 'name the primary in the URL')
  if (encoding !== 'UTF8')
    throw new UsageError(
      `the database ${database} has the encoding ${encoding}: UTF8 is needed`,
      `createdb --encoding UTF8 --template template0 NAME`,
    )
  if (schema === null || target.may_create !== true)
    throw new UsageError(
      `${account} may not make tables in the database ${database}`,
      `as its administrator: alter database "${database}" owner to "${account}"`,
    )
  const current = await schemaVersion(db)
  if (current === 0 && target.others.length > 0)
    throw new UsageError(
      `the database ${database} is not empty: it has ${target.others.join(', ')}`,
      'make one for this archive: createdb NAME',
    )
  if (current === UNFINISHED_MOVE)
    throw new UsageError(
      `the database ${database} has the copy of another data dir, whose db move is not finished`,
      'finish it there, or use another database',
    )
  if (current > 0 && (await hasArchive(db)))
    throw new UsageError(
      `there is an archive in the database ${database} already: nothing goes over it`,
      'make one for this archive: createdb NAME',
    )
}

async function lookAt(db: Database): Promise<Target> {
  const { rows } = await sql<Target>`
    select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
      pg_encoding_to_char(encoding) as encoding, datname as database, current_user as account,
      pg_is_in_recovery() as is_standby, current_schema() as schema,
      has_schema_privilege(current_schema(), 'create') as may_create,
      array(
        select relname::text from pg_class c
        where relnamespace = (select oid from pg_namespace where nspname = current_schema())
          and relkind in ('r', 'p', 'v', 'm', 'S', 'f')
          and not exists (select from pg_depend where objid = c.oid and deptype = 'e')
        order by 1 limit 5) as others
    from pg_database where datname = current_database()`.execute(db)
  return rows[0]!
}
