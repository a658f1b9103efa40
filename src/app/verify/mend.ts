import { lstatSync, mkdirSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { AppError } from '../../base/errors.ts'
import type { Home } from '../../db/home.ts'
import { resultsOfPage } from '../../db/results.ts'
import { retry } from '../../machines/retry.ts'
import { reconcilePages } from '../../workers/repair/reconcile-pages.ts'
import type { Problem } from './check-page.ts'
import { type Found, problemsNow } from './find-problems.ts'
import { removeLeft } from './remove-left.ts'
import { isStray } from './stray-folders.ts'

/** Where files and folders without a row are kept, under their old path. */
export const ASIDE = 'lost+found'
/** With more unknown folders per existing page than this, it is another archive's database, or an old copy. */
const STRAYS_PER_PAGE = 9

/**
 * Repairs what can be repaired without inventing or replacing anything, and deletes only older folders of pages that
 * another node has archived since then. Throws AppError when all folders are gone, or hardly any is known: then a disk
 * or a database is the wrong one.
 * @param pages how many were checked
 * @returns what was repaired of `found`
 */
export async function mend(
  home: Home,
  { found, pages }: { readonly found: readonly Found[]; readonly pages: number },
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<ReadonlySet<Found>> {
  refuseWrongPlace(home, found, pages)
  const mended = new Set<Found>()
  for (const [page, problems] of Map.groupBy(found.filter(isUnknown), (each) => each.page)) {
    signal?.throwIfAborted()
    // A hook may have recorded it in the meantime.
    const still = page && (await problemsNow(home, page.id, true)).filter(isUnknown)
    for (const each of problems) {
      const { path } = each
      if (!(still ? still.some((now) => now.path === path) : await isStray(home, path))) continue
      moveAside(home.dataDir, path)
      mended.add(each)
    }
  }
  for (const each of found.filter(({ problem }) => problem === 'left behind')) {
    signal?.throwIfAborted()
    if (await removeLeft(home, each.path)) mended.add(each)
  }
  const pageless = found.filter(({ problem }) => problem === 'no page')
  const crawls = new Set(pageless.flatMap(({ page }) => page?.crawl_id ?? []))
  const ids = pageless.flatMap(({ page }) => page?.id ?? [])
  if (ids.length > 0) await reconcilePages(home, [...crawls], ids)
  for (const each of pageless) mended.add(each)
  const lost = found.filter((each) => isMissing(each) && !each.page?.is_adopted)
  for (const [page, problems] of Map.groupBy(lost, (each) => each.page!)) {
    signal?.throwIfAborted()
    for (const each of await makeAgain(home, page, problems)) mended.add(each)
  }
  return mended
}

const isUnknown = ({ problem }: Problem): boolean => problem === 'unknown'
const isMissing = ({ problem }: Problem): boolean => problem === 'missing'

function refuseWrongPlace({ dataDir }: Home, found: readonly Found[], pages: number): void {
  const gone = found.filter(({ path, page, problem }) => problem === 'missing' && path === page?.output_dir).length
  if (pages > 1 && gone === pages)
    throw new AppError(`none of ${pages} pages has its folder: nothing was changed`, {
      hint: `is the disk of ${join(dataDir, 'archive')} there?`,
    })
  const strays = found.filter((each) => each.page === undefined && isUnknown(each)).length
  if (strays > STRAYS_PER_PAGE * (pages - gone))
    throw new AppError(`the database knows ${pages - gone} pages, but not ${strays} folders: nothing was changed`, {
      hint: `is it the database of ${dataDir}, and not an older copy?`,
    })
}

/** Queues the hooks that have lost all of their files: another run would replace any remaining ones. */
async function makeAgain(home: Home, page: NonNullable<Found['page']>, problems: readonly Found[]): Promise<Found[]> {
  const lost = new Set(problems.map(({ path }) => path))
  const hooks = Map.groupBy(await resultsOfPage(home.db, page.id), (each) => `${each.plugin}/${each.hook_name}`)
  const made = new Set<string>()
  const again: string[] = []
  for (const attempts of hooks.values()) {
    const files = attempts.flatMap(({ plugin, output_files }) =>
      Object.keys(output_files).map((file) => `${page.output_dir}/${plugin}/${file}`),
    )
    if (files.length === 0 || !files.every((file) => lost.has(page.output_dir) || lost.has(file))) continue
    again.push(attempts.at(-1)!.id)
    for (const file of files) made.add(file)
  }
  if (again.length > 0) await retry(home, { results: again })
  return problems.filter(({ path }) => made.has(path) || (path === page.output_dir && again.length > 0))
}

/** Moves it to a free name: what was moved aside before stays. */
function moveAside(dataDir: string, path: string): void {
  const wanted = join(dataDir, ASIDE, path)
  let to = wanted
  for (let n = 2; lstatSync(to, { throwIfNoEntry: false }); n += 1) to = `${wanted}.${n}`
  mkdirSync(dirname(to), { recursive: true })
  renameSync(join(dataDir, path), to)
}
