import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { TestHome } from '../support/homes.ts'
import { pages as servedPages } from '../support/site.ts'
import type { Finding } from '../support/verdict.ts'
import type { Added, Ledger } from './ledger.ts'
import { recordsIn } from './people.ts'

interface Crawl {
  readonly id: string
  readonly urls: readonly string[]
  readonly status: string
}
interface Page {
  readonly id: string
  readonly crawl_id: string
  readonly url: string
  readonly status: string
  readonly output_dir: string
}
interface Result {
  readonly id: string
  readonly snapshot_id: string
  readonly plugin: string
  readonly hook_name: string
  readonly status: string
  readonly attempt: number
}

const FINAL = ['succeeded', 'failed', 'skipped', 'noresults']

/**
 * The verdict of somebody who has only the program's own words, the files, and what the site serves: no table is asked.
 */
export async function outsideVerdict(home: TestHome, ledger: Ledger): Promise<Finding[]> {
  const list = async <Row>(...args: string[]): Promise<Row[]> => {
    const { code, stdout, stderr } = await home.run([...args, '--json'], { env: { DATABASE_URL: '' } })
    if (code !== 0 && args[0] !== 'status') throw new Error(`${args.join(' ')}: ${stderr}`)
    return recordsIn<Row>(stdout)
  }
  const crawls = await list<Crawl>('crawl', 'list')
  const pages = Map.groupBy(await list<Page>('snapshot', 'list'), ({ crawl_id }) => crawl_id)
  const results = Map.groupBy(await list<Result>('result', 'list'), ({ snapshot_id }) => snapshot_id)
  const all = [...pages.values()].flat()
  const open = (await list<{ status: string; pid: number }>('process', 'list', '--all')).filter(
    ({ status }) => status !== 'exited' && status !== 'lost',
  )
  const [status] = await list<{ runner: { state: string }; due: Record<string, number> }>('status')
  return [
    {
      name: 'what `add` answered is there',
      how: 'crawl list, snapshot list',
      broken: ledger.added.flatMap((add) => lost(add, ledger, crawls, pages)),
    },
    {
      name: 'every page is sealed, and each of its hooks has ended once an attempt',
      how: 'snapshot list, result list',
      broken: ledger.added.flatMap((added) => unfinished(added, ledger, pages, results)),
    },
    {
      name: 'what was archived is what the site serves',
      how: 'html/output.html, title/title.txt',
      broken: all.flatMap((page) => wrong(home, page)),
    },
    {
      name: 'files and listings agree',
      how: 'index.jsonl against result list',
      broken: all.flatMap((page) => disagreeing(home, page, results.get(page.id) ?? [])),
    },
    {
      name: 'every folder is of a page or a crawl that is listed',
      how: 'archive/ against snapshot list, crawl list',
      broken: strayFolders(home.dataDir, new Set([...all, ...crawls].map(({ id }) => id))),
    },
    {
      name: 'nobody is left, and nothing is due',
      how: 'process list, status',
      broken: [
        ...open.map((row) => JSON.stringify(row)),
        ...(status?.runner.state === 'none' && Object.values(status.due).every((due) => Number(due) === 0)
          ? []
          : [JSON.stringify(status)]),
      ],
    },
    {
      name: 'every command ended with a fair exit code and a clear word',
      how: 'exit codes, stderr',
      broken: ledger.complaints,
    },
  ]
}

/** Of an accepted crawl every page is there once; of one whose `add` was killed all or nothing. */
function lost(
  { id, urls }: Added,
  ledger: Ledger,
  crawls: readonly Crawl[],
  pages: ReadonlyMap<string, readonly Page[]>,
): string[] {
  const found = crawls.filter((crawl) => crawl.urls.includes(urls[0]!))
  if (id !== undefined && ledger.deleted.has(id)) return []
  if (found.length > 1) return [`${urls[0]}: ${found.length} crawls`]
  const [crawl] = found
  if (!crawl) return id === undefined ? [] : [`crawl ${id} is lost`]
  if (id !== undefined && crawl.id !== id) return [`${urls[0]}: in crawl ${crawl.id}, not ${id}`]
  if (ledger.deleted.has(crawl.id)) return [] // A part of what an `add` had written that was killed before it said so.
  const there = (pages.get(crawl.id) ?? []).map(({ url }) => url).sort()
  // One that was cancelled before it began has no pages.
  if (ledger.cancelled.has(crawl.id) && crawl.status === 'sealed' && there.length === 0) return []
  const expected = [...urls].sort()
  return there.join() === expected.join() ? [] : [`crawl ${crawl.id}: ${there.length} of ${expected.length} pages`]
}

function unfinished(
  added: Added,
  ledger: Ledger,
  pages: ReadonlyMap<string, readonly Page[]>,
  results: ReadonlyMap<string, readonly Result[]>,
): string[] {
  const ofCrawl = added.id === undefined ? [] : (pages.get(added.id) ?? [])
  const named = (page: Page) =>
    new Set((results.get(page.id) ?? []).map(({ plugin, hook_name }) => `${plugin}/${hook_name}`))
  const alike = ledger.added.filter(({ id, plugins }) => id !== undefined && plugins === added.plugins)
  const most = Math.max(...alike.flatMap(({ id }) => (pages.get(id!) ?? []).map((page) => named(page).size)), 0)
  return ofCrawl.flatMap((page) => {
    const rows = results.get(page.id) ?? []
    const wrong = rows
      .filter(({ status }) => !FINAL.includes(status))
      .map(({ hook_name, status }) => `${page.url}: ${hook_name} is ${status}`)
    if (page.status !== 'sealed') wrong.push(`${page.url} is ${page.status}`)
    if (!ledger.cancelled.has(page.crawl_id) && named(page).size !== most)
      wrong.push(`${page.url}: ${named(page).size} of ${most} hooks`)
    return wrong
  })
}

/** `archive/<kind>/<day>/<domain>/<id>`, and what a deletion has moved aside. */
function strayFolders(dataDir: string, known: ReadonlySet<string>): string[] {
  const archive = join(dataDir, 'archive')
  const folders = globSync('{snapshots,crawls}/*/*/*', { cwd: archive })
  const stray = folders.filter(
    (folder) => statSync(join(archive, folder)).isDirectory() && !known.has(basename(folder)),
  )
  return [...stray, ...globSync('.deleted/*', { cwd: archive })]
}

const served = servedPages(10_000)

function wrong(home: TestHome, { url, output_dir }: Page): string[] {
  const path = new URL(url).pathname
  const [html, title] = ['html/output.html', 'title/title.txt'].map((name) => join(home.dataDir, output_dir, name))
  const complaints = []
  if (existsSync(html!) && readFileSync(html!, 'utf8') !== served[path])
    complaints.push(`${html} is not what ${path} is`)
  const number = /\d+/.exec(path)?.[0]
  if (existsSync(title!) && readFileSync(title!, 'utf8').trim() !== `Page ${number}`)
    complaints.push(`${title} is not of ${path}`)
  return complaints
}

function disagreeing(home: TestHome, page: Page, results: readonly Result[]): string[] {
  const file = join(home.dataDir, page.output_dir, 'index.jsonl')
  if (!existsSync(file)) return [`${file} is missing`]
  const [first, ...rest] = recordsIn<Result & Page>(readFileSync(file, 'utf8'))
  const summary = (rows: readonly Result[]) =>
    rows
      .map((row) => `${row.plugin}/${row.hook_name} ${row.attempt} ${row.status}`)
      .sort()
      .join('\n')
  return first?.id === page.id && summary(rest) === summary(results)
    ? []
    : [`${file} does not say what the listings say`]
}
