import { lstatSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { TestHome } from './homes.ts'

interface Named {
  readonly size: number
  readonly link?: string
}

interface PageRow extends Record<string, unknown> {
  readonly id: string
  readonly output_dir: string
  readonly output_size: number
  readonly cancelled: boolean
  readonly results: readonly {
    readonly plugin: string
    readonly status: string
    readonly files: Readonly<Record<string, Named>>
  }[]
}

/**
 * Inconsistencies between the files of sealed pages and the rows that name them: one result names each published file,
 * with its size, each named file is in place, and a page is as large as its files. A hook that died between writing its
 * files and its row, and was cancelled or failed when it ran again, may have left a file that no row names.
 */
export async function wrongOutputs(home: TestHome, crawlId?: string): Promise<string[]> {
  const pages = await home.query<PageRow>(
    `
    select s.id, s.output_dir, s.output_size::float8, exists (
             select 1 from transition t where t.row_id = s.id and t.event = 'seal'
               and t.process_id is null) as cancelled,
           coalesce(json_agg(json_build_object('plugin', r.plugin, 'status', r.status, 'files', r.output_files))
             filter (where r.id is not null), '[]') as results
    from snapshot s left join archive_result r on r.snapshot_id = s.id where s.status = 'sealed'
      and ($1::uuid is null or s.crawl_id = $1) group by s.id`,
    [crawlId ?? null],
  )
  return pages.flatMap((page) => wrongOn(home, page).map((what) => `${page.output_dir}: ${what}`))
}

function wrongOn(home: TestHome, page: PageRow): string[] {
  const dir = join(home.dataDir, page.output_dir)
  const wrong: string[] = []
  const named = new Map<string, Named>()
  for (const { plugin, files } of page.results) {
    for (const [path, file] of Object.entries(files)) {
      if (named.has(`${plugin}/${path}`)) wrong.push(`${plugin}/${path} is named by two results`)
      named.set(`${plugin}/${path}`, file)
    }
  }
  let bytes = 0
  for (const [path, { size, link }] of named) {
    const found = lstatSync(join(dir, path), { throwIfNoEntry: false })
    bytes += size
    if (!found) wrong.push(`${path}: ${size} bytes in the row, none on disk`)
    else if (
      link === undefined
        ? !found.isFile() || found.size !== size
        : !found.isSymbolicLink() || readlinkSync(join(dir, path)) !== link
    )
      wrong.push(`${path}: ${size} bytes${link ? ` and a link to ${link}` : ''} in the row, ${found.size} on disk`)
  }
  if (bytes !== page.output_size) wrong.push(`${page.output_size} bytes in its row, ${bytes} in those of its results`)
  const unsettled = new Set(page.results.filter(({ status }) => status !== 'succeeded').map(({ plugin }) => plugin))
  for (const path of page.cancelled ? [] : publishedIn(dir))
    if (!named.has(path) && !unsettled.has(path.split('/')[0]!)) wrong.push(`${path} is named by no result`)
  return wrong
}

/** The files and links in the plugins' folders of a page. */
export function publishedIn(dir: string): string[] {
  const below = (folder: string): string[] =>
    readdirSync(join(dir, folder), { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? below(`${folder}/${entry.name}`) : [`${folder}/${entry.name}`],
    )
  const plugins = readdirSync(dir, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && !entry.name.startsWith('.'),
  )
  return plugins.flatMap(({ name }) => below(name))
}
