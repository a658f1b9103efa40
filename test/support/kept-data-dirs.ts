import { cpSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { migrations } from '../../src/db/migrate.ts'
import type { TestDatabase } from './engine.ts'
import { newFolder } from './folders.ts'
import { ROOT } from './program.ts'

const FIXTURES = join(ROOT, 'test', 'fixtures', 'data-dirs')

/** The schema versions whose data dirs are kept (`scripts/keep-data-dir.ts`), as their folders are called. */
export const KEPT: readonly string[] = readdirSync(FIXTURES).sort()

/** The statements that make the schema with these migrations, as programs did that had no others. */
export function schemaOf(versions: readonly number[]): string[] {
  return [
    'create table schema_migration (version integer primary key, name text, applied_at timestamptz default now())',
    ...migrations().flatMap(({ version, name, file }) =>
      versions.includes(version)
        ? [readFileSync(file, 'utf8'), `insert into schema_migration values (${version}, '${name}')`]
        : [],
    ),
  ]
}

/** Identity columns continue from the rows that are there. */
const NEXT_NUMBERS = `do $$ declare one record; begin
  for one in select table_name as t, column_name as c from information_schema.columns where is_identity = 'YES' loop
    execute format('select setval(pg_get_serial_sequence(%1$L, %2$L), max(%2$I)) from %1$I', one.t, one.c);
  end loop;
end $$`

/** What stands in braces in the rows of a kept data dir, besides its path. */
export interface Here {
  readonly machine: string
  readonly host: string
  /** The host and port of the site that its pages are from. */
  readonly site: string
}

/** A data dir as an older program left it. @returns its path, and its database */
export async function keptDataDir(
  name: string,
  make: (...statements: string[]) => Promise<TestDatabase>,
  here: Here,
): Promise<{ readonly dataDir: string; readonly database: TestDatabase }> {
  const dataDir = newFolder()
  const fixture = join(FIXTURES, name)
  if (existsSync(join(fixture, 'files'))) cpSync(join(fixture, 'files'), dataDir, { recursive: true })
  const text = readFileSync(join(fixture, 'rows.sql'), 'utf8')
  const [, id, versions] = /^-- data dir: (\S+), migrations: ([\d ]+)\n/.exec(text)!
  writeFileSync(join(dataDir, 'archivebox.toml'), '')
  const marker = join(dataDir, '.archivebox-id')
  writeFileSync(marker, '')
  writeFileSync(marker, `${id} ${statSync(marker).ino}\n`)
  const words: Readonly<Record<string, string>> = { 'data dir': dataDir, ...here }
  const rows = text.replaceAll(/\{(data dir|machine|host|site)\}/g, (_, word: string) => words[word]!)
  const database = await make(
    ...schemaOf(versions!.split(' ').map(Number)),
    // A fence lets only a leader insert processes of its own.
    `set session_replication_role = replica; ${rows} set session_replication_role = origin`,
    "update snapshot set url_hash = sha256(convert_to(url, 'UTF8'))",
    NEXT_NUMBERS,
  )
  return { dataDir, database }
}
