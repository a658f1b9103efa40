import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Home } from '../../db/home.ts'
import { meaningsIn } from '../../db/meanings.ts'
import { hasOtherNodes, isAway } from '../../db/nodes.ts'
import { type RecordedPage, recordedPage, recordedPages } from '../../db/recorded-files.ts'
import type { Call } from '../call.ts'
import { checkPage, type Problem } from './check-page.ts'
import { CheckPool } from './check-pool.ts'
import { lostPackages } from './lost-packages.ts'
import { strayFolders } from './stray-folders.ts'

/** A problem, and the page that it belongs to. */
export interface Found extends Problem {
  readonly page?: Pick<RecordedPage, 'id' | 'crawl_id' | 'url' | 'output_dir' | 'is_adopted'>
}

/** A problem as a record, for programs. */
export function problemRecord({ page, ...found }: Found) {
  return { type: 'Problem', ...found, snapshot_id: page?.id ?? null, url: page?.url ?? null } as const
}

/** How much has been checked so far. */
export interface Progress {
  readonly event: 'progress'
  readonly pages: number
  readonly files: number
  /** Files whose content was compared, and their bytes. */
  readonly hashed: number
  readonly bytes: number
  /** How many more pages have files on other nodes, by the ids of these. */
  readonly away: ReadonlyMap<string, number>
}

const BATCH = 100
const FIRST = '00000000-0000-0000-0000-000000000000'

/**
 * Checks every sealed page of this node against its rows, and every folder for its row. Changes nothing. Reads little
 * more than the reader has asked for; when the reader stops, or `signal` aborts, all threads end at once.
 * @param options.quick does not compare the content of files
 * @param options.tell is told after each batch of pages
 */
export async function* findProblems(
  home: Home,
  { quick = false }: { readonly quick?: boolean },
  { signal, tell }: Call<Progress> = {},
): AsyncGenerator<Found, void, void> {
  const left = new AbortController()
  const over = signal ? AbortSignal.any([signal, left.signal]) : left.signal
  const pool = new CheckPool(home.dataDir, quick, over)
  const running: Promise<readonly Found[]>[] = []
  const sum = { pages: 0, files: 0, hashed: 0, bytes: 0, away: new Map<string, number>() }
  const check = async (pages: readonly RecordedPage[]) => {
    const problems: Found[] = []
    for (const [index, each] of (await pool.check(pages)).entries()) {
      sum.pages += 1
      sum.files += each.files
      sum.hashed += each.hashed
      sum.bytes += each.bytes
      if (each.problems.length === 0) continue
      const { id, crawl_id, url, output_dir, is_adopted } = pages[index]! // Without its files, since it is kept.
      const page = { id, crawl_id, url, output_dir, is_adopted }
      for (const problem of await problemsNow(home, id, quick)) problems.push({ ...problem, page })
    }
    tell?.({ event: 'progress', ...sum })
    return problems
  }
  // Where there are several nodes, a page that ended before it had any file may have its folder on any of them.
  const isAlone = !(await hasOtherNodes(home))
  const isOurs = ({ home_node: node, output_dir: dir }: RecordedPage) =>
    node === null ? isAlone || existsSync(join(home.dataDir, dir)) : !isAway(node, home)
  try {
    for (let after = FIRST; ; ) {
      over.throwIfAborted()
      const pages = await recordedPages(home, await meaningsIn(home.db), after, BATCH)
      if (pages.length === 0) break
      after = pages.at(-1)!.id
      for (const node of pages.flatMap(({ away }) => away)) sum.away.set(node, (sum.away.get(node) ?? 0) + 1)
      const work = check(pages.filter(isOurs))
      work.catch(() => {}) // Thrown when its turn comes.
      if (running.push(work) >= 2 * pool.size) yield* await running.shift()!
    }
    while (running.length > 0) yield* await running.shift()!
    yield* strayFolders(home, over)
    yield* lostPackages(home.dataDir)
  } finally {
    left.abort()
    await pool.close()
    await Promise.allSettled(running)
  }
}

/** The problems of a page by its current rows: it may be in work again, or have changed since it was checked. */
export async function problemsNow(home: Home, id: string, quick: boolean): Promise<readonly Problem[]> {
  const now = await recordedPage(home, await meaningsIn(home.db), id)
  return now ? checkPage(home.dataDir, now, quick).problems : []
}
