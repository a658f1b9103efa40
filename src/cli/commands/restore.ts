import { resolve } from 'node:path'
import { AppError, EXIT } from '../../base/errors.ts'
import { inspectBackup } from '../../db/backup/backup-file.ts'
import { readBackup } from '../../db/backup/read-backup.ts'
import { settleRestored } from '../../machines/queues.ts'
import { many, number } from '../../pages/layout.ts'
import { withBareDatabase } from '../bare-database.ts'
import { Interrupts } from '../interrupts.ts'
import type { GlobalOptions } from '../options.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'

/** `restore FILE`: the rows of a backup in an empty archive, all of them or none. */
export async function restore(options: GlobalOptions, file: string): Promise<void> {
  const backup = await inspectBackup(resolve(file))
  const isOurs = options.databaseUrl === undefined
  await withBareDatabase(options, 'if-empty', async ({ url }) => {
    await untilStopped((stop) => readBackup(url, backup, { settle: settleRestored, isOurs, stop }))
    const { header, trailer } = backup
    if (wantsJson(options))
      printRecord({ type: 'Backup', file, schema: header.schema, made_at: header.made_at, rows: trailer.rows })
    const made = header.made_at.slice(0, 19).replace('T', ' ')
    terminal.say(`${pagesIn(trailer.rows)} restored, as of ${made} UTC`)
    terminal.say('archivebox-ts verify compares them with the files')
  })
}

/** `1,204 pages of 3 crawls (9,120 rows)` */
export function pagesIn(rows: Readonly<Record<string, number>>): string {
  const all = Object.values(rows).reduce((sum, count) => sum + count, 0)
  return `${many(rows['snapshot'] ?? 0, 'page')} of ${many(rows['crawl'] ?? 0, 'crawl')} (${number(all)} rows)`
}

/**
 * Work that a first signal undoes; it ends the command with 130.
 * @param isUndone has nothing been changed? By default work is all or nothing
 */
export async function untilStopped<T>(
  work: (signal: AbortSignal) => Promise<T>,
  isUndone: () => boolean = () => true,
): Promise<T> {
  const interrupts = new Interrupts()
  try {
    return await work(interrupts.signal)
  } catch (error) {
    if (!interrupts.signal.aborted) throw error
    throw new AppError(isUndone() ? 'interrupted: nothing was changed' : 'interrupted', { exitCode: EXIT.interrupted })
  } finally {
    interrupts.end()
  }
}
