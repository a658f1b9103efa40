import { createRequire } from 'node:module'
import type { DatabaseSync } from 'node:sqlite'

/** Opens a SQLite database for reading with Node's own SQLite, without its remark that this is experimental. */
export function openSqlite(file: string): DatabaseSync {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    const sqlite = createRequire(import.meta.url)('node:sqlite') as typeof import('node:sqlite')
    return new sqlite.DatabaseSync(file, { readOnly: true })
  } finally {
    process.emitWarning = emitWarning
  }
}
