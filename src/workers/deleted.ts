import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Home } from '../db/home.ts'

/** After a lost claim: when the row was deleted while we worked on it, what we wrote since then goes, too. */
export async function clearIfDeleted(
  { db, dataDir }: Home,
  table: 'crawl' | 'snapshot',
  row: { readonly id: string; readonly output_dir: string },
): Promise<void> {
  const there = await db.selectFrom(table).select('id').where('id', '=', row.id).executeTakeFirst()
  if (!there) await rm(join(dataDir, row.output_dir), { recursive: true, force: true })
}
