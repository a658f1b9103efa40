import type { Database } from './database.ts'

/** Where one of our processes works: a data dir on one machine, and its database. */
export interface Home {
  readonly db: Database
  /** The URL that `db` was opened with: workers get it, hooks never. */
  readonly databaseUrl: string
  /** The server is our own: statements may be kept prepared. */
  readonly embedded: boolean
  readonly machineId: string
  /** Absolute, symlinks resolved: two paths to one data dir are one data dir. */
  readonly dataDir: string
  /** The identity of the data dir, wherever it is seen from. */
  readonly dataDirId: string
}
