import { readFileSync } from 'node:fs'
import { sql } from 'kysely'
import type { Database } from './database.ts'
import { type Migration, migrations, newestSchema } from './migrate.ts'

/** What the head of a migration's file says of it. */
export interface MigrationNotes {
  /** What is different for people afterwards, in one line. */
  readonly changes: string
  /** The tables of which about every row is written, in place or to another table. */
  readonly rewrites: readonly string[]
  /** The tables that are read from end to end, for an index, a check or a count. */
  readonly reads: readonly string[]
}

export function notesOf({ file }: Migration): MigrationNotes {
  const text = readFileSync(file, 'utf8')
  const said = (word: string) => new RegExp(`^-- ${word}: (.+)$`, 'm').exec(text)?.[1] ?? ''
  const tables = (word: string) => said(word).split(', ').filter(Boolean)
  return { changes: said('changes'), rewrites: tables('rewrites'), reads: tables('reads') }
}

/** What it takes to bring a schema up to date. */
export interface MigrationPlan {
  readonly from: number
  readonly to: number
  /** How many rows are written. */
  readonly rewritten: number
  /** About how long that takes. */
  readonly seconds: number
  /** About how much room that takes on the database's disk until it is done. */
  readonly bytes: number
  /** What all rows take there now. */
  readonly size: number
}

// Measured with half a million results on two shared cores, and almost doubled: better soon than late.
const MS_TO_WRITE = 0.04
const MS_TO_READ = 0.005

/** Plans all migrations that a schema lacks. They are one transaction: what it replaces stays until it is committed. */
export async function planMigration(db: Database, from: number): Promise<MigrationPlan> {
  const notes = migrations().flatMap((migration) => (migration.version > from ? [notesOf(migration)] : []))
  const tables = await tablesOf(db)
  const rewritten = notes.flatMap(({ rewrites }) => rewrites.flatMap((name) => tables.get(name) ?? []))
  const read = notes.flatMap(({ reads }) => reads.flatMap((name) => tables.get(name) ?? []))
  const sum = (all: readonly Table[], of: (table: Table) => number) => all.reduce((some, table) => some + of(table), 0)
  const rows = (all: readonly Table[]) => sum(all, (table) => table.rows)
  return {
    from,
    to: newestSchema(),
    rewritten: rows(rewritten),
    seconds: Math.round((rows(rewritten) * MS_TO_WRITE + rows(read) * MS_TO_READ) / 1_000),
    // Rows that are written lie in the log of the database, too; a new index takes less than its table.
    bytes: sum(rewritten, ({ whole }) => whole) + sum(read, ({ bare }) => bare),
    size: sum([...tables.values()], ({ whole }) => whole),
  }
}

interface Table {
  readonly name: string
  readonly rows: number
  /** In bytes, with and without its indexes. */
  readonly whole: number
  readonly bare: number
}

/** A row that nobody has counted yet takes about as much. */
const ROW_BYTES = 200

/** The tables of the archive, by what the server knows of them without counting. */
async function tablesOf(db: Database): Promise<ReadonlyMap<string, Table>> {
  const { rows } = await sql<Table>`
    select relname as name, pg_total_relation_size(oid) as whole, pg_relation_size(oid) as bare,
      case when reltuples >= 0 then reltuples::bigint else pg_relation_size(oid) / ${ROW_BYTES}::bigint end as rows
    from pg_class where relkind = 'r'
      and relnamespace = (select relnamespace from pg_class where oid = 'schema_migration'::regclass)`.execute(db)
  return new Map(rows.map((table) => [table.name, table]))
}
