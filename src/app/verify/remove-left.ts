import { statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { isUuid } from '../../base/ids.ts'
import { removeLargeTree } from '../../base/remove-tree.ts'
import type { Home } from '../../db/home.ts'
import { mayPause } from '../../db/may-pause.ts'
import { pagesAway } from '../../db/recorded-files.ts'
import { transact } from '../../db/retry.ts'

/**
 * Removes the folder that we have of a page which another node has archived since then. Its row is locked meanwhile, so
 * that the page does not come home. A folder on another file system than the archive may be that node's own.
 * @returns false: it stays, since that node has not archived the page, or is lost
 */
export async function removeLeft(home: Home, path: string): Promise<boolean> {
  const folder = join(home.dataDir, path)
  const id = basename(path).toLowerCase()
  const device = (place: string) => statSync(place, { throwIfNoEntry: false })?.dev
  if (!isUuid(id) || device(folder) !== device(join(home.dataDir, 'archive'))) return false
  return await transact(home.db, async (db) => {
    await mayPause(db)
    const [page] = await pagesAway({ ...home, db }, [id], 'locked')
    if (!page?.is_archived) return false
    await removeLargeTree(folder)
    return true
  })
}
