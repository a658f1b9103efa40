import { rm, rmdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { PROFILES, processFolders } from '../../base/short-folder.ts'
import type { Home } from '../../db/home.ts'
import { endedAmong } from '../../db/process-rows.ts'
import { freeze } from '../../hooks/hand-over.ts'

/**
 * Removes the folders in /tmp of processes that ended without doing so, with their profiles: killed browsers'
 * launchers. Only for processes of this data dir, and of this account.
 */
export async function removeLeftFolders(home: Pick<Home, 'db' | 'dataDirId'>): Promise<void> {
  const folders = processFolders()
  if (folders.size === 0) return
  for (const { id, pwd } of await endedAmong(home, [...folders.keys()])) {
    const folder = folders.get(id)!
    const profiles = join(pwd, PROFILES)
    // The folder comes last: it leads to the rest.
    for (const each of [join(profiles, basename(folder)), folder]) {
      freeze(each)
      await rm(each, { recursive: true, force: true, maxRetries: 5 })
    }
    await rmdir(profiles).catch(() => {}) // It is gone, or somebody else's, too.
  }
}
