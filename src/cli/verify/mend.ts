import { mkdirSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { AppError } from '../../base/errors.ts'
import type { Home } from '../../db/home.ts'
import { resultsOfPage } from '../../db/results.ts'
import { retry } from '../../machines/retry.ts'
import { reconcilePages } from '../../workers/reconcile-pages.ts'
import type { Problem } from './check-page.ts'
import { type Found, problemsNow } from './find-problems.ts'

/** Where what nobody knows is kept, under its old path. */
const ASIDE = 'lost+found'

interface Remedy {
  /** What `--mend` would do, and what it has done; none: nothing. */
  readonly would?: string
  readonly mended?: string
  /** What a person can do where we cannot. */
  readonly otherwise?: string
}

const BY_HAND: Remedy = { otherwise: 'left as it is: bring it back from a copy, or fetch it anew with result retry' }

/** What only the hooks that made a file, or a copy, bring back. */
const LOST: readonly Problem['problem'][] = ['missing', 'changed', 'unreadable']

const ADOPTED: Remedy = {
  otherwise: 'left as it is: bring it back from the collection it came from, or archive the page anew with add --again',
}

const REMEDIES: Readonly<Record<Problem['problem'], Remedy>> = {
  missing: { would: 'queues the hooks that made it again', mended: 'the hooks that made it are queued again' },
  'no page': { would: 'writes it again', mended: 'written again' },
  unknown: { would: `moves it to ${ASIDE}/`, mended: `moved to ${ASIDE}/` },
  changed: BY_HAND,
  unreadable: BY_HAND,
}

/** What can be done about a problem. */
export function remedyOf({ problem, page }: Found): Remedy {
  return page?.is_adopted && LOST.includes(problem) ? ADOPTED : REMEDIES[problem]
}

/**
 * Does what can be done without inventing or deleting anything. Throws AppError when all folders are gone: then a disk
 * is missing rather than files.
 */
export async function mend(home: Home, found: readonly Found[], pages: number): Promise<void> {
  const missing = found.filter(({ problem }) => problem === 'missing')
  const folders = missing.filter(({ path, page }) => path === page?.output_dir)
  if (pages > 1 && folders.length === pages)
    throw new AppError(`not one of ${pages} pages has its folder: nothing was mended`, {
      hint: `is the disk of ${join(home.dataDir, 'archive')} there?`,
    })
  for (const [page, problems] of Map.groupBy(found.filter(isUnknown), (each) => each.page)) {
    // A hook may have made it known in the meantime.
    const still = page ? (await problemsNow(home, page.id, true)).filter(isUnknown) : problems
    for (const { path } of problems) if (still.some((now) => now.path === path)) moveAside(home.dataDir, path)
  }
  await reconcilePages(
    home,
    [...new Set(found.flatMap(({ problem, page }) => (problem === 'no page' && page ? [page.crawl_id] : [])))],
    found.flatMap(({ problem, page }) => (problem === 'no page' && page ? [page.id] : [])),
  )
  for (const [page, problems] of Map.groupBy(missing, (each) => each.page!)) {
    const lost = (file: string) =>
      problems.some(({ path }) => path === page.output_dir || path === `${page.output_dir}/${file}`)
    const results = await resultsOfPage(home.db, page.id)
    const made = results.filter(({ plugin, output_files }) =>
      Object.keys(output_files).some((file) => lost(`${plugin}/${file}`)),
    )
    const latest = made.flatMap(
      ({ plugin, hook_name }) =>
        results.findLast((result) => result.plugin === plugin && result.hook_name === hook_name)!.id,
    )
    await retry(home.db, { results: [...new Set(latest)] })
  }
}

const isUnknown = ({ problem }: Problem): boolean => problem === 'unknown'

function moveAside(dataDir: string, path: string): void {
  const to = join(dataDir, ASIDE, path)
  mkdirSync(dirname(to), { recursive: true })
  renameSync(join(dataDir, path), to)
}
