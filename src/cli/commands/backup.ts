import { statSync } from 'node:fs'
import { backup as writeBackup } from '../../app/backup/backup.ts'
import { uuidv7 } from '../../base/ids.ts'
import { many, sizeText } from '../../base/words.ts'
import { namedNodes } from '../../db/nodes.ts'
import { asProcess, withHome } from '../home.ts'
import type { GlobalOptions } from '../options.ts'
import { scheduledBackup } from '../spawn-backup.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'
import { whileThere } from '../unread.ts'
import { pagesIn, untilStopped } from './restore.ts'

/**
 * `backup FILE`: writes all rows to one file, and beside it a list of the files that belong to them; `--check` restores
 * it on trial.
 */
export async function backup(options: GlobalOptions, file: string, { check }: { check?: boolean }): Promise<void> {
  await withHome(options, async (home, open) => {
    const id = uuidv7()
    const scheduled = scheduledBackup()
    const isTried = check || (scheduled !== undefined && options.settings.config.BACKUP_CHECK === 'restore')
    const tryIn = isTried ? options : undefined
    const work = async () => {
      const fileNow = () => statSync(file, { throwIfNoEntry: false })?.ino
      const before = fileNow()
      const written = await untilStopped(
        (signal) => writeBackup(open, { file, processId: id, scheduled, tryIn }, { signal }),
        () => fileNow() === before,
      )
      const { record, personas } = written
      if (wantsJson(options)) printRecord(record)
      terminal.say(`${pagesIn(record.rows)} in ${file} (${sizeText(record.size)}); ${file}.files lists their files:`)
      terminal.say(`  rsync -ar --ignore-missing-args --files-from=${file}.files ${home.dataDir}/ ELSEWHERE/`)
      const nodes = await namedNodes(
        home.db,
        record.absent.map(({ id }) => id),
      )
      for (const node of record.absent)
        terminal.tell(
          `not in that list: the files of ${many(node.pages, 'page')} on node ${node.name}; ` +
            whileThere(nodes.get(node.id)!, 'backup there lists them'),
        )
      if (check)
        terminal.say(
          record.checked === 'restored' ? 'it was restored on trial' : 'there is no room to restore it on trial',
        )
      if (personas.length > 0)
        terminal.say(`warning: the files include the logins of ${personas.join(', ')}; the backup itself has none`)
    }
    await asProcess(home, 'cli', work, id)
  })
}
