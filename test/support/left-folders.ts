import { processFolders } from '../../src/base/short-folder.ts'
import type { TestHome } from './homes.ts'

/** The folders in /tmp of processes of this archive. */
export async function foldersOf(home: TestHome): Promise<string[]> {
  const all = processFolders()
  const rows = await home.query<{ id: string }>('select id from process where id = any($1)', [[...all.keys()]])
  return rows.map(({ id }) => all.get(id)!)
}
