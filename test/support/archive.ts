import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { TestHome } from './homes.ts'
import { wrongOutputs } from './outputs.ts'

export interface Page extends Record<string, unknown> {
  readonly id: string
  readonly url: string
  readonly title: string | null
  readonly depth: number
  readonly status: string
  readonly output_dir: string
}

export interface Result extends Record<string, unknown> {
  readonly snapshot_id: string
  readonly plugin: string
  readonly hook_name: string
  readonly status: string
  readonly output_str: string
  readonly attempt: number
  readonly output_files: Readonly<Record<string, { readonly size: number }>>
}

/** The pages of a crawl, by depth and then in the order in which they were found. */
export async function pagesOf(home: TestHome, crawlId: string): Promise<Page[]> {
  return await home.query<Page>('select * from snapshot where crawl_id = $1 order by depth, id', [crawlId])
}

export async function resultsOf(home: TestHome, crawlId: string): Promise<Result[]> {
  return await home.query<Result>(
    'select r.* from archive_result r join snapshot s on s.id = r.snapshot_id where s.crawl_id = $1 ' +
      'order by s.id, r.hook_name',
    [crawlId],
  )
}

/** The result of one plugin for the crawl's only page, or for the given one. */
export async function resultOf(home: TestHome, crawlId: string, plugin: string): Promise<Result> {
  const found = (await resultsOf(home, crawlId)).filter((result) => result.plugin === plugin)
  expect(found, `results of ${plugin}`).toHaveLength(1)
  return found[0]!
}

/** The plugins with `needs_file`. */
const FILE_PLUGINS = new Set(['exif', 'parse_jsonl_urls', 'parse_rss_urls', 'parse_txt_urls', 'pdftext'])

/**
 * Checks everything about a crawl: it is sealed, each page is sealed with an index, each hook has one final result,
 * each file that a result names is in place with its size, each hash is right, and no partly written file is left.
 * @returns its pages
 */
export async function expectComplete(home: TestHome, crawlId: string): Promise<Page[]> {
  expect(await home.value('select status from crawl where id = $1', [crawlId])).toBe('sealed')
  const pages = await pagesOf(home, crawlId)
  expect(new Set(pages.map(({ url }) => url)).size).toBe(pages.length)
  const results = await resultsOf(home, crawlId)
  for (const page of pages) {
    expect(page.status, page.url).toBe('sealed')
    const dir = join(home.dataDir, page.output_dir)
    for (const name of ['index.html', 'index.jsonl'])
      expect(existsSync(join(dir, name)), `${page.url} ${name}`).toBe(true)
    expect(readdirSync(dir).filter((name) => /^\.(work|publish|replaced)/.test(name) || name.endsWith('.tmp'))).toEqual(
      [],
    )
    const own = results.filter((result) => result.snapshot_id === page.id)
    for (const result of own) expect(result.attempt).toBe(1)
    expectHashes(dir)
  }
  expect(await wrongOutputs(home, crawlId)).toEqual([])
  // If a crawl was given up, some pages may have had no turn.
  const isGivenUp = await home.value<boolean>(`select message <> '' from crawl where id = $1`, [crawlId])
  // Hooks for files have results only on pages that are one.
  const onAll = results.filter(({ plugin }) => !FILE_PLUGINS.has(plugin))
  const counts = pages.map(({ id }) => onAll.filter((result) => result.snapshot_id === id).length)
  const records = new Set(counts.filter((count) => count > 0 || !isGivenUp))
  expect(records.size, 'every page has as many results').toBeLessThanOrEqual(1)
  return pages
}

/** Checks that the files of a page are exactly those in hashes.json, byte for byte. */
export function expectHashes(dir: string): void {
  const file = join(dir, 'hashes', 'hashes.json')
  if (!existsSync(file)) return
  const { files } = JSON.parse(readFileSync(file, 'utf8')) as {
    files: { path: string; size: number; sha256: string }[]
  }
  expect(files.map(({ path }) => path)).toEqual(outputsIn(dir))
  for (const { path, size, sha256 } of files) {
    const bytes = readFileSync(join(dir, path))
    expect({ path, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }).toEqual({
      path,
      size,
      sha256,
    })
  }
}

/** The files of a page's plugins, without the hashes, in the order of their paths. */
function outputsIn(dir: string): string[] {
  const files: string[] = []
  const walk = (folder: string, isOurs: (name: string) => boolean) => {
    for (const entry of readdirSync(join(dir, folder), { withFileTypes: true }).filter(({ name }) => isOurs(name)))
      if (entry.isDirectory()) walk(join(folder, entry.name), () => true)
      else if (entry.isFile() && folder !== '') files.push(join(folder, entry.name))
  }
  walk('', (name) => !name.startsWith('.') && name !== 'hashes')
  return files.sort((a, b) => (a < b ? -1 : 1))
}
