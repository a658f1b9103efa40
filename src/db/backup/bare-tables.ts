import { sql } from 'kysely'
import type { Database } from '../database.ts'
import { quoted } from './archive-tables.ts'

interface Statements {
  readonly drop: string
  readonly make: string
}

/**
 * Lets `load` fill tables that have no index, no key and no trigger meanwhile, and restores these: building an index of
 * all rows at once takes a fraction of the time. Inside the caller's transaction.
 */
export async function withBareTables(
  tx: Database,
  tables: readonly string[],
  load: () => Promise<void>,
): Promise<void> {
  const triggers = async (how: string) => {
    for (const table of tables) await sql.raw(`alter table ${quoted(table)} ${how} trigger user`).execute(tx)
  }
  const extras = [...(await constraintsOf(tx, tables)), ...(await indexesOf(tx, tables))]
  await triggers('disable')
  for (const { drop } of extras) await sql.raw(drop).execute(tx)
  await load()
  for (const { make } of extras.toReversed()) await sql.raw(make).execute(tx)
  await triggers('enable')
  for (const table of tables) await sql.raw(`analyze ${quoted(table)}`).execute(tx)
}

/** Keys, foreign ones first, since they need the others; and the checks of folders, which rows are repaired for. */
async function constraintsOf(tx: Database, tables: readonly string[]): Promise<Statements[]> {
  const { rows } = await sql<Statements>`
    select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop,
           format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as make
    from pg_constraint
    where conrelid = any(${tables.map(quoted)}::regclass[])
      and (contype in ('f', 'p', 'u', 'x') or contype = 'c' and conname like '%\\_output\\_dir\\_check')
    order by contype <> 'f', oid`.execute(tx)
  return rows
}

/** Indexes of their own, not those of a key. */
async function indexesOf(tx: Database, tables: readonly string[]): Promise<Statements[]> {
  const { rows } = await sql<Statements>`
    select format('drop index %s', indexrelid::regclass) as drop, pg_get_indexdef(indexrelid) as make
    from pg_index i
    where indrelid = any(${tables.map(quoted)}::regclass[])
      and not exists (select from pg_constraint where conindid = indexrelid)`.execute(tx)
  return rows
}
