import { listRows } from '../../app/lists.ts'
import { AppError, UsageError } from '../../base/errors.ts'
import { pagesOn } from '../../db/nodes.ts'
import { WaczPages } from '../../pages/wacz.ts'
import { withHome } from '../home.ts'
import type { GlobalOptions } from '../options.ts'
import { SNAPSHOT } from '../records/kinds.ts'
import { type FilterOptions, queryOf } from '../records/list.ts'
import { stdoutIsOver, terminal } from '../terminal.ts'
import { sayUnread } from '../unread.ts'

export interface WaczOptions extends FilterOptions {
  readonly format: 'wacz'
}

/** `export --format wacz`: streams the WARCs of pages to stdout, as one file that replays. */
export async function exportWacz(options: GlobalOptions, verb: WaczOptions): Promise<void> {
  if (options.json) throw new UsageError('--json and --format wacz exclude each other')
  if (process.stdout.isTTY) throw new UsageError('a WACZ is binary', 'archivebox-ts export --format wacz > pages.wacz')
  const query = queryOf(SNAPSHOT, verb)
  await withHome(options, async (home) => {
    const pages = new WaczPages(home)
    try {
      for await (const some of listRows({ home }, SNAPSHOT, await query(home))) for (const page of some) pages.add(page)
      const { count, lacking, elsewhere } = pages
      const away = await pagesOn(home.db, pages.away)
      sayUnread(away, 'export there has them')
      if (count === 0)
        throw new AppError(
          lacking > 0 ? `none of ${lacking} pages has a WARC` : elsewhere > 0 ? 'no page is here' : 'no pages match',
        )
      await pages.write(process.stdout, `${count} archived pages`).catch((error: unknown) => {
        if (!stdoutIsOver()) throw error
      })
      if (stdoutIsOver()) return
      terminal.say(`${count} pages${lacking > 0 ? `, without ${lacking} that have no WARC` : ''}`)
    } finally {
      pages.close()
    }
  })
}
