import { constants, copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'

/**
 * Copies a SQLite database, with its latest writes, and opens the copy with Node's own SQLite: the original may be in
 * use, and even a reader may write beside it. The open copy has no name, so that nothing stays behind however this
 * process ends.
 */
export function copyOfSqlite(file: string): DatabaseSync {
  const folder = mkdtempSync(join(tmpdir(), 'archivebox-ts-sqlite-'))
  try {
    const copy = join(folder, 'copy.sqlite')
    for (const end of ['', '-wal'])
      if (statSync(file + end, { throwIfNoEntry: false })?.isFile())
        copyFileSync(file + end, copy + end, constants.COPYFILE_FICLONE)
    const db = openSqlite(copy)
    db.exec('pragma trusted_schema = off') // The schema may be untrusted.
    tablesOf(db) // Opens everything that belongs to it.
    return db
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Without Node's warning that its SQLite is experimental. */
function openSqlite(file: string): DatabaseSync {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    const sqlite = createRequire(import.meta.url)('node:sqlite') as typeof import('node:sqlite')
    return new sqlite.DatabaseSync(file)
  } finally {
    process.emitWarning = emitWarning
  }
}

/** The names of its tables; without views and virtual tables, which may be anything. */
export function tablesOf(db: DatabaseSync): Set<string> {
  const rows = db.prepare(`select name from pragma_table_list where schema = 'main' and type = 'table'`).all()
  return new Set(rows.map(({ name }) => String(name)))
}

/** The names of a table's columns that are stored, not computed; none: there is no such table. */
export function columnsOf(db: DatabaseSync, table: string): Set<string> {
  if (!tablesOf(db).has(table)) return new Set()
  const rows = db.prepare('select name from pragma_table_info(?)').all(table)
  return new Set(rows.map(({ name }) => String(name)))
}
