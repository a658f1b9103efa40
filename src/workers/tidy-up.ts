import { statSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { Home } from '../db/home.ts'
import { transact } from '../db/patience.ts'
import { WorkTree } from '../hooks/work-tree.ts'
import { lockCrawls } from '../machines/commands.ts'
import { clearIfDeleted } from './deleted.ts'
import { rewritePages } from './rewrite-pages.ts'

interface Page {
  readonly id: string
  readonly crawl_id: string
  readonly output_dir: string
}

/** After a lost claim: nothing of what we had in work stays on a page that was deleted, paused or cancelled. */
export async function tidyUp(home: Home, page: Page): Promise<void> {
  await transact(home.db, async (tx) => {
    // Whoever has such a page worked on again takes its crawl first.
    await lockCrawls(tx, sql`id = ${page.crawl_id}`)
    const isNobodys = tx.selectFrom('snapshot').select('id').where('id', '=', page.id).where('status', 'in', ['paused', 'sealed'])
    if (await isNobodys.executeTakeFirst()) await treeOf(home, page).tidy()
  })
  await clearIfDeleted(home, 'snapshot', page)
}

interface Cancelled extends Page {
  readonly at: Date
}

/**
 * Completes what was cancelled in the last `seconds`: a page's worker may have died before it noticed, and the command that cancelled it before
 * it had written what became of it.
 */
export async function tidyUpCancelled(home: Home, seconds: number): Promise<void> {
  const { rows } = await sql<Cancelled>`
    select s.id, s.crawl_id, s.output_dir, max(t.at) as at from transition t join snapshot s on s.id = t.row_id
    where t.at > now() - make_interval(secs => ${seconds}) and t.model = 'snapshot' and t.event = 'seal' and t.process_id is null
      and s.status = 'sealed'
    group by s.id`.execute(home.db)
  for (const page of rows) if (!treeOf(home, page).isTidy) await tidyUp(home, page)
  const untold = rows.filter((page) => !tells(home, page))
  const crawls = new Set(untold.map((page) => page.crawl_id))
  const ids = untold.map(({ id }) => id)
  if (crawls.size > 0) await rewritePages(home, [...crawls], ids)
}

/** Was its index written since it was cancelled? */
function tells({ dataDir }: Home, { output_dir, at }: Cancelled): boolean {
  const written = statSync(join(dataDir, output_dir, 'index.html'), { throwIfNoEntry: false })?.mtimeMs ?? 0
  return written >= at.getTime()
}

const treeOf = ({ dataDir }: Home, page: Page) => new WorkTree(join(dataDir, page.output_dir))
