import { appendFileSync, chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dataDirId } from '../../src/base/data-dir-id.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { enterServer, urlOf } from '../../src/db/embedded/server.ts'
import type { Home } from '../../src/db/home.ts'
import { currentMachine } from '../../src/processes/machine.ts'
import { archivebox } from './program.ts'

const COUNTING = "shared_preload_libraries = 'pg_stat_statements'\npg_stat_statements.track = 'top'\n"
const made = new Set<string>()

/** An empty data dir whose database is not made yet. */
export function emptyDataDir(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'archivebox-ts-bench-')))
  made.add(dir)
  chmodSync(dir, 0o755) // As root, the database server runs as somebody else, who must be able to pass.
  writeFileSync(join(dir, 'archivebox.toml'), '')
  return dir
}

/** Stops what runs on a data dir of ours, and removes it. */
export async function removeDataDir(dir: string): Promise<void> {
  await stopServer(dir)
  rmSync(dir, { recursive: true, force: true })
  made.delete(dir)
}

/** All that are left: after a bench, and at an end by a signal. */
export async function removeAllDataDirs(): Promise<void> {
  await Promise.all([...made].map(removeDataDir))
}

/**
 * A data dir with a running embedded server, which our own share keeps up while others come and go. Its files stay
 * until the bench is over: for some minutes ext4 steps over deleted inodes one by one, so that every removal would slow
 * down the rounds after it.
 */
export async function withHome<T>(
  work: (home: Home) => Promise<T>,
  settings: { readonly countsStatements?: boolean } = {},
): Promise<T> {
  const dataDir = emptyDataDir()
  try {
    await archivebox(dataDir, 'db', 'start')
    if (settings.countsStatements) {
      await archivebox(dataDir, 'db', 'stop')
      appendFileSync(join(dataDir, 'postgres', 'postgresql.auto.conf'), COUNTING)
      await archivebox(dataDir, 'db', 'start')
    }
    const server = await enterServer(dataDir)
    const databaseUrl = urlOf(server.address)
    const machine = await briefly(databaseUrl, currentMachine)
    const db = openDatabase(databaseUrl, { name: 'bench' })
    try {
      return await work({
        db,
        databaseUrl,
        embedded: true,
        machineId: machine.id,
        dataDir,
        dataDirId: await dataDirId(dataDir, () => {}),
      })
    } finally {
      await db.destroy()
      await server.leave()
    }
  } finally {
    await stopServer(dataDir)
  }
}

/** Works with connections of its own, so that the server has none of ours while something is measured. */
export async function briefly<T>(databaseUrl: string, work: (db: Database) => Promise<T>): Promise<T> {
  const db = openDatabase(databaseUrl, { name: 'bench' })
  return await work(db).finally(() => db.destroy())
}

async function stopServer(dataDir: string): Promise<void> {
  await archivebox(dataDir, 'db', 'stop', '--force').catch(() => {})
}
