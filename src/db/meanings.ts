import { sql } from 'kysely'
import { Meanings, makesIn } from '../base/makes.ts'
import type { Database } from './database.ts'
import { withRetry } from './retry.ts'

// The table `plugin_meaning`: what each plugin makes, as it last declared.

/** How long a process uses what it has read: plugins change rarely. */
const KNOWN_MS = 5_000

const known = new WeakMap<Database, { readonly until: number; readonly meanings: Promise<Meanings> }>()

/** What each plugin makes. Inside a transaction it is read anew. */
export async function meaningsIn(db: Database): Promise<Meanings> {
  if (db.isTransaction) return await read(db)
  const last = known.get(db)
  if (last && last.until > performance.now()) return await last.meanings
  const meanings = read(db)
  known.set(db, { until: performance.now() + KNOWN_MS, meanings })
  meanings.catch(() => known.delete(db))
  return await meanings
}

async function read(db: Database): Promise<Meanings> {
  const select = sql<{ plugin: string; makes: unknown }>`select plugin, makes from plugin_meaning`
  const { rows } = await withRetry(db, () => select.execute(db))
  return new Meanings(rows.map(({ plugin, makes }) => [plugin, makesIn(makes)]))
}

/** Stores the declarations of these plugins; removes that of one without any (undefined). */
export async function keepMeanings(db: Database, said: ReadonlyMap<string, object | undefined>): Promise<void> {
  const all = [...said].flatMap(([plugin, makes]) => (makes ? [[plugin, JSON.stringify(makes)] as const] : []))
  const silent = [...said].flatMap(([plugin, makes]) => (makes ? [] : [plugin]))
  const keep = sql`
    with silent as (delete from plugin_meaning where plugin = any(${silent}::text[]))
    insert into plugin_meaning (plugin, makes) select * from unnest(
      ${all.map(([plugin]) => plugin)}::text[], ${all.map(([, makes]) => makes)}::jsonb[])
    on conflict (plugin) do update set makes = excluded.makes where plugin_meaning.makes <> excluded.makes`
  await withRetry(db, () => keep.execute(db))
  known.delete(db)
}
