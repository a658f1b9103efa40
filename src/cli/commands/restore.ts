import { resolve } from 'node:path'
import { openDataDir } from '../../base/data-dir.ts'
import { AppError, EXIT } from '../../base/errors.ts'
import { inspectBackup } from '../../db/backup/backup-file.ts'
import { readBackup } from '../../db/backup/read-backup.ts'
import { applicationName, openDatabase, ping } from '../../db/database.ts'
import { explainDatabaseError } from '../../db/trouble.ts'
import { settleRestored } from '../../machines/queues.ts'
import { many, number } from '../../pages/layout.ts'
import { Door, databaseWaitMs } from '../door.ts'
import { giveUp, openDatabaseOf } from '../home.ts'
import { Interrupts } from '../interrupts.ts'
import type { GlobalOptions } from '../options.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'

/** `restore FILE`: the rows of a backup in an empty archive, all of them or none. */
export async function restore(options: GlobalOptions, file: string): Promise<void> {
  const backup = await inspectBackup(resolve(file))
  const dataDir = openDataDir(options.dataDir, 'if-empty')
  const say = (line: string) => terminal.say(line)
  const door = new Door(dataDir, databaseWaitMs(options), say)
  const server = await openDatabaseOf(options, dataDir, say, door)
  const db = openDatabase(server.url, { name: applicationName('cli') })
  const interrupts = new Interrupts()
  try {
    await door.connect(server, () => ping(db))
    door.passed()
    await readBackup(server.url, backup, settleRestored, interrupts.signal)
    const { header, trailer } = backup
    if (wantsJson(options))
      printRecord({ type: 'Backup', file, schema: header.schema, made_at: header.made_at, rows: trailer.rows })
    say(`${pagesIn(trailer.rows)} restored, as of ${header.made_at}; archivebox-ts verify compares them with the files`)
  } catch (error) {
    throw explainDatabaseError(stopped(error, interrupts.signal), server.url)
  } finally {
    interrupts.end()
    await giveUp(db)
    await server.leave()
  }
}

/** `1,204 pages of 3 crawls (9,120 rows)` */
export function pagesIn(rows: Readonly<Record<string, number>>): string {
  const all = Object.values(rows).reduce((sum, count) => sum + count, 0)
  return `${many(rows['snapshot'] ?? 0, 'page')} of ${many(rows['crawl'] ?? 0, 'crawl')} (${number(all)} rows)`
}

/** What an error was, or that a signal ended the work. */
export function stopped(error: unknown, signal: AbortSignal): unknown {
  return signal.aborted ? new AppError('interrupted: nothing was changed', { exitCode: EXIT.interrupted }) : error
}
