import type { ExportName } from '../../app/export/formats.ts'
import { exportPages } from '../../app/export.ts'
import { UsageError } from '../../base/errors.ts'
import { withHome } from '../home.ts'
import type { GlobalOptions } from '../options.ts'
import { SNAPSHOT } from '../records/kinds.ts'
import { type FilterOptions, queryOf } from '../records/list.ts'
import { printText, readerWantsMore } from '../terminal.ts'

export interface ExportOptions extends FilterOptions {
  readonly format: ExportName
}

/** `export`: writes pages to stdout, newest first, in a format that other programs and `add` can read. */
export async function exportAsText(options: GlobalOptions, { format, ...verb }: ExportOptions): Promise<void> {
  if (options.json && format !== 'jsonl') throw new UsageError(`--json and --format ${format} exclude each other`)
  const query = queryOf(SNAPSHOT, verb)
  await withHome(options, async (home) => {
    for await (const chunk of exportPages({ home }, { format, ...(await query(home)) })) {
      printText(chunk)
      if (!(await readerWantsMore())) break
    }
  })
}
