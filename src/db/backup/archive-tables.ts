import { readFileSync } from 'node:fs'
import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../database.ts'
import { migrations } from '../migrate.ts'

/** A table as it is copied: by name, so that the order of its columns may differ. */
export interface CopiedTable {
  readonly name: string
  readonly columns: readonly string[]
}

/** What belongs to one data dir: who may see it is up to its own server. A copy for the same one has these, too. */
const OF_ONE_DATA_DIR = ['web_session', 'login_code', 'last_backup', 'backup', 'plugin_meaning']

/** The rows of an archive, or all that there are. */
export type Extent = 'archive' | 'all'

/**
 * The tables of the archive and their columns, from the server's catalogue: of the tables beside `schema_migration`
 * those that the migrations create, for others may share the schema. Without columns that the server computes, and ids
 * of its own transactions (xid8), which mean nothing to another server: their default is used there.
 */
export async function archiveTables(db: Database, extent: Extent = 'archive'): Promise<CopiedTable[]> {
  const { rows } = await sql<CopiedTable>`
    select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relkind = 'r' and c.relname = any(${madeByMigrations(extent)}::text[]) and ${isBeside(sql`c.relnamespace`)}
      and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and a.atttypid <> 'xid8'::regtype
    group by c.relname order by c.relname`.execute(db)
  return rows
}

/** Whether this is the schema of our tables. */
const isBeside = (namespace: RawBuilder<unknown>) => sql`
  ${namespace} = (select relnamespace from pg_class where oid = 'schema_migration'::regclass)`

function madeByMigrations(extent: Extent): string[] {
  const made = migrations().flatMap(({ file }) => [
    ...readFileSync(file, 'utf8').matchAll(/^\s*create table (?:if not exists )?"?(\w+)"?/gim),
  ])
  const isLeft = (name: string) => extent === 'archive' && OF_ONE_DATA_DIR.includes(name)
  return made.map(([, name]) => name!).filter((name) => name !== 'schema_migration' && !isLeft(name))
}

/** `"snapshot" ("id", "url")`, as COPY takes it. */
export function copied({ name, columns }: CopiedTable): string {
  return `${quoted(name)} (${columns.map(quoted).join(', ')})`
}

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
