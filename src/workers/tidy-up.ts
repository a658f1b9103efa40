import { join } from 'node:path'
import { sql } from 'kysely'
import type { Home } from '../db/home.ts'
import { transact } from '../db/patience.ts'
import { WorkTree } from '../hooks/work-tree.ts'
import { lockCrawls } from '../machines/commands.ts'
import { clearIfDeleted } from './deleted.ts'

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

/** Tidies up pages that were cancelled in the last `seconds`: their workers may have died before they noticed. */
export async function tidyUpCancelled(home: Home, seconds: number): Promise<void> {
  const { rows } = await sql<Page>`
    select id, crawl_id, output_dir from snapshot where status = 'sealed' and id in (
      select row_id from transition where at > now() - make_interval(secs => ${seconds}) and model = 'snapshot' and event = 'seal' and process_id is null)`.execute(
    home.db,
  )
  for (const page of rows) if (!treeOf(home, page).isTidy) await tidyUp(home, page)
}

const treeOf = ({ dataDir }: Home, page: Page) => new WorkTree(join(dataDir, page.output_dir))
