import { UsageError } from '../../base/errors.ts'
import { eachListed } from '../../db/lists/each-listed.ts'
import { EXPORTS, type ExportFormat, type ExportName } from '../export/formats.ts'
import { withHome } from '../home.ts'
import type { GlobalOptions } from '../options.ts'
import { SNAPSHOT } from '../records/kinds.ts'
import { type FilterOptions, queryOf } from '../records/list.ts'
import { printText, readerWantsMore } from '../terminal.ts'

export interface ExportOptions extends FilterOptions {
  readonly format: ExportName
}

/** Characters that are written at once. */
const CHUNK = 262_144

/** `export`: pages on stdout, newest first, in a format that other programs and `add` read. */
export async function exportPages(options: GlobalOptions, verb: ExportOptions): Promise<void> {
  if (options.json && verb.format !== 'jsonl')
    throw new UsageError(`--json and --format ${verb.format} exclude each other`)
  const { head, page, foot }: ExportFormat = EXPORTS[verb.format]
  const query = queryOf(SNAPSHOT, verb)
  let text = head
  await withHome(options, async (home) => {
    await eachListed(home.db, SNAPSHOT, await query(home), (row) => {
      text += page(row)
      if (text.length < CHUNK) return true
      printText(text)
      text = ''
      return readerWantsMore()
    })
  })
  printText(text + foot)
}
