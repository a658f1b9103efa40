import type { Home } from '../../db/home.ts'
import { type RecordedPage, recordedPage, recordedPages } from '../../db/recorded-files.ts'
import { checkPage, type Problem } from './check-page.ts'
import { CheckPool } from './check-pool.ts'
import { lostPackages } from './lost-packages.ts'
import { strayFolders } from './stray-folders.ts'

/** A problem, and the page that it is one of. */
export interface Found extends Problem {
  readonly page?: Pick<RecordedPage, 'id' | 'crawl_id' | 'url' | 'output_dir' | 'is_adopted'>
}

/** How much was checked. */
export interface Progress {
  pages: number
  files: number
  /** Files whose content was compared, and their bytes. */
  hashed: number
  bytes: number
}

const BATCH = 100
const FIRST = '00000000-0000-0000-0000-000000000000'

/** Checks every sealed page against its rows, and every folder for its row. Changes nothing. */
export async function findProblems(
  home: Home,
  quick: boolean,
  progress: Progress,
  say: (found: Found) => void,
): Promise<void> {
  const pool = new CheckPool(home.dataDir, quick)
  const running = new Set<Promise<void>>()
  const check = async (pages: readonly RecordedPage[]) => {
    const checked = await pool.check(pages)
    for (const [index, each] of checked.entries()) {
      progress.pages += 1
      progress.files += each.files
      progress.hashed += each.hashed
      progress.bytes += each.bytes
      if (each.problems.length === 0) continue
      const { id, crawl_id, url, output_dir, is_adopted } = pages[index]! // Without its files, for it is kept.
      const page = { id, crawl_id, url, output_dir, is_adopted }
      for (const problem of await problemsNow(home, id, quick)) say({ ...problem, page })
    }
  }
  try {
    for (let after = FIRST; ; ) {
      const pages = await recordedPages(home.db, after, BATCH)
      if (pages.length === 0) break
      after = pages.at(-1)!.id
      const work = check(pages)
      running.add(work)
      work.finally(() => running.delete(work)).catch(() => {})
      if (running.size >= 2 * pool.size) await Promise.race(running)
    }
    await Promise.all(running)
    for await (const stray of strayFolders(home)) say(stray)
    for (const lost of lostPackages(home.dataDir)) say(lost)
  } finally {
    await Promise.allSettled(running)
    await pool.close()
  }
}

/** What is wrong with a page by its rows of now: it may be at work again, or changed since it was looked at. */
export async function problemsNow({ db, dataDir }: Home, id: string, quick: boolean): Promise<readonly Problem[]> {
  const now = await recordedPage(db, id)
  return now ? checkPage(dataDir, now, quick).problems : []
}
