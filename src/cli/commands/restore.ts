import { resolve } from 'node:path'
import { restore as restoreRows } from '../../app/backup/restore.ts'
import { oneLine } from '../../base/clean.ts'
import { AppError, EXIT } from '../../base/errors.ts'
import { many, number } from '../../base/words.ts'
import { inspectBackup } from '../../db/backup/backup-file.ts'
import type { LeftOut } from '../../db/backup/left-out.ts'
import { withBareDatabase } from '../home.ts'
import { interruptible } from '../interrupts.ts'
import type { GlobalOptions } from '../options.ts'
import { cutEnd } from '../screen/fit.ts'
import { onStderr } from '../screen/palette.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'

export interface RestoreVerb {
  /** The user trusts the backup. */
  readonly trustSettings?: boolean
}

/**
 * `restore FILE`: the rows of a backup in an empty archive, all of them or none. Settings that choose programs are left
 * out, and named, unless they were set here before.
 */
export async function restore(options: GlobalOptions, file: string, verb: RestoreVerb): Promise<void> {
  const backup = await inspectBackup(resolve(file))
  const input = { file, backup, isMine: verb.trustSettings === true }
  await withBareDatabase(options, 'if-empty', async (bare) => {
    const record = await untilStopped((signal) => restoreRows(options, bare, input, { signal }))
    if (wantsJson(options)) printRecord(record)
    const made = record.made_at.slice(0, 19).replace('T', ' ')
    terminal.say(`${pagesIn(record.rows)} restored, as of ${made} UTC`)
    sayLeftOut(record.left_out)
    for (const { name, pages } of record.absent)
      terminal.say(`not here: the files of ${many(pages, 'page')} on node ${oneLine(name)}`)
    terminal.say('archivebox-ts verify compares them with the files')
  })
}

const NAMED = 50
const LONGEST_VALUE = 200

function sayLeftOut({ settings, binaries, folders }: LeftOut): void {
  const lines = [
    ...folders.map((folder) => `the folder ${folder} of a row, which now has one in archive/`),
    ...settings.map((setting) => `${setting.name}=${setting.value}, of ${many(setting.rows, 'row')}`),
  ].map((line) => `${onStderr.yellow('left out:')} ${cutEnd(oneLine(line), LONGEST_VALUE)}`)
  for (const line of lines.slice(0, NAMED)) terminal.say(line)
  if (lines.length > NAMED) terminal.say(`${onStderr.yellow('left out:')} ${lines.length - NAMED} more of these`)
  if (binaries > 0)
    terminal.say(`${onStderr.yellow('left out:')} where ${many(binaries, 'program')} were: looked up again here`)
  if (settings.length > 0) terminal.say('--trust-settings restores settings of programs, too: only for own backups')
}

/** `1,204 pages of 3 crawls (9,120 rows)` */
export function pagesIn(rows: Readonly<Record<string, number>>): string {
  const all = Object.values(rows).reduce((sum, count) => sum + count, 0)
  return `${many(rows['snapshot'] ?? 0, 'page')} of ${many(rows['crawl'] ?? 0, 'crawl')} (${number(all)} rows)`
}

/**
 * Runs work that a first signal undoes; the signal ends the command with 130.
 * @param isUndone whether nothing was changed; by default work is all or nothing
 */
export async function untilStopped<T>(
  work: (signal: AbortSignal) => Promise<T>,
  isUndone: () => boolean = () => true,
): Promise<T> {
  return await interruptible(async (signal) => {
    try {
      return await work(signal)
    } catch (error) {
      if (!signal.aborted) throw error
      const said = isUndone() ? 'interrupted: nothing was changed' : 'interrupted'
      throw new AppError(said, { exitCode: EXIT.interrupted })
    }
  })
}
