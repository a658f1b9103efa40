import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { backup as writeBackup } from '../../app/backup/backup.ts'
import { sizeText } from '../../base/words.ts'
import { asProcess, withHome } from '../home.ts'
import type { GlobalOptions } from '../options.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'
import { pagesIn, untilStopped } from './restore.ts'

/** `backup FILE`: all rows in one file, and beside it the list of the files that belong to them. */
export async function backup(options: GlobalOptions, file: string): Promise<void> {
  await withHome(options, async (home, open) => {
    await asProcess(home, 'cli', async () => {
      const fileNow = () => statSync(file, { throwIfNoEntry: false })?.ino
      const before = fileNow()
      const written = await untilStopped(
        (signal) => writeBackup(open, resolve(file), { signal }),
        () => fileNow() === before,
      )
      const { rows, schema, sha256, size, personas } = written
      if (wantsJson(options)) printRecord({ type: 'Backup', file, files: `${file}.files`, schema, size, sha256, rows })
      terminal.say(`${pagesIn(rows)} in ${file} (${sizeText(size)}); ${file}.files names their files:`)
      terminal.say(`  rsync -ar --ignore-missing-args --files-from=${file}.files ${home.dataDir}/ ELSEWHERE/`)
      if (personas.length > 0)
        terminal.say(`careful: among the files are the logins of ${personas.join(', ')}; the backup itself has none`)
    })
  })
}
