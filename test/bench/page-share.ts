import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { Home } from '../../src/db/home.ts'
import { endedChildrenMs, postgresMs } from './cpu.ts'
import { cpuByRole, profiledProgram, tableOfCpu } from './cpu-profile.ts'
import type { Figure } from './figures.ts'
import { withHome } from './home.ts'
import { NPM_ONLY } from './plugins.ts'
import { archivebox, startNode } from './program.ts'
import { copyOfProgram, putFirst } from './program-copy.ts'
import { withSite } from './site.ts'

/** However large a crawl is, its pages on disk cost the same part of it. */
const SIZES = [200, 1_000, 5_000]
/** Two of the cheapest ways to archive a page: a browser would cost a hundred times as much. */
const PLUGINS = {
  'with wget': [NPM_ONLY[0], `${NPM_ONLY[1]},wget`],
  'npm only': NPM_ONLY,
} as const
const MOST_PERCENT = 2

/** What writes pages: all that the rest of the program calls of `workers/index/index-pages.ts`. */
const WRITERS = ['writeSnapshotPages', 'writeCrawlPage', 'writeArchivePage']

/**
 * What the pages on disk cost of an archiving crawl. Measured is the program that ships, in a copy whose writers add up
 * the CPU of their process while they run (what else it does meanwhile counts, too), and the time of the database's
 * statements and triggers about pages, as if all of it were CPU.
 */
export async function pageShare(rounds: number): Promise<Figure[]> {
  const root = mkdtempSync(join(tmpdir(), 'archivebox-ts-bench-share-'))
  try {
    const program = countedProgram(root)
    const kinds = Object.entries(PLUGINS).flatMap(([what, plugins]) => SIZES.map((size) => ({ what, plugins, size })))
    const values = new Map(kinds.map((kind) => [kind, [] as number[]]))
    await share(program, 100, NPM_ONLY) // Compiles.
    for (let round = 0; round < rounds; round += 1)
      for (const [{ size, plugins }, list] of values) list.push(await share(program, size, plugins))
    for (const kind of PROFILED) console.log(await whatFor(kind))
    return [...values].map(([{ what, size }, list]) => ({
      bench: 'page-share',
      what: `pages on disk, of the CPU of a crawl of ${size}, ${what}`,
      unit: '%',
      values: list,
      target: { atMost: MOST_PERCENT, of: 'value' },
    }))
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

/** A crawl without a browser, and one with it, whose CPU is looked at by what it is for. */
const PROFILED = [
  { what: 'npm only', pages: 1_000, plugins: NPM_ONLY },
  { what: 'captures', pages: 60, plugins: ['--plugins', 'chrome,mhtml,screenshot,pdf,dom,title'] },
] as const

/**
 * What the processes of a crawl use their CPU for, as a table: of the program that ships, in a copy that profiles
 * itself in 1,000 samples a second. docs/performance.md has one of them.
 */
async function whatFor({ what, pages, plugins }: (typeof PROFILED)[number]): Promise<string> {
  const root = mkdtempSync(join(tmpdir(), 'archivebox-ts-bench-profile-'))
  try {
    chmodSync(root, 0o755) // As root, hooks run as somebody else.
    const program = profiledProgram(root)
    await withSite(pages, async (site) =>
      withHome(async ({ dataDir }) => {
        // A data dir unpacks its browser once, for the account that hooks run as.
        if (what === 'captures')
          await archivebox(dataDir, 'add', '--run', '--plugins', 'chrome,title', `${site}/?first`)
        // Of these plugins none finds links.
        const urls = Array.from({ length: pages }, (_, at) => `${site}/page-${at + 1}.html`)
        await archivebox(dataDir, 'add', ...plugins, ...(what === 'captures' ? urls : ['--depth', '1', `${site}/`]))
        const args = [program.main, '--data-dir', dataDir, 'run', '--exit-on-idle', '--daemon']
        const [code] = await once(startNode(args, { stdio: 'ignore' }), 'exit')
        if (code !== 0) throw new Error(`the runner ended with ${code}`)
      }),
    )
    return `crawl of ${pages} pages, ${what}\n${tableOfCpu(cpuByRole(program), pages + 1)}`
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

interface Counted {
  readonly main: string
  /** A line for each process that ended: milliseconds by writer. */
  readonly log: string
}

/** A copy of the built program whose writers are counted. */
function countedProgram(root: string): Counted {
  const dist = copyOfProgram(root)
  const log = join(root, 'cpu.jsonl')
  const counted = ['program.js', 'add.js', 'run.js', 'worker.js'].flatMap((name) => countWriters(join(dist, name), log))
  const missing = WRITERS.filter((name) => !counted.includes(name))
  if (missing.length > 0) throw new Error(`the program has no ${missing.join(', ')}`)
  return { main: join(dist, 'main.js'), log }
}

/** Counts the writers in a file of the program. @returns their names */
function countWriters(file: string, log: string): string[] {
  let text = readFileSync(file, 'utf8')
  const names = WRITERS.filter((name) => text.includes(`async function ${name}(`))
  for (const name of names)
    text = text.replace(
      `async function ${name}(`,
      `async function ${name}(...all){return await benchCounted("${name}",()=>${name}Uncounted(...all))}` +
        `async function ${name}Uncounted(`,
    )
  writeFileSync(file, text)
  putFirst(file, `${benchCounted.toString()}\nbenchCounted.log=${JSON.stringify(log)};`)
  return names
}

/** Goes into the copy as text. */
async function benchCounted(name: string, work: () => Promise<unknown>): Promise<unknown> {
  const self = benchCounted as unknown as { log: string; sums?: Record<string, number>; open?: number }
  if (!self.sums) {
    const sums: Record<string, number> = {}
    self.sums = sums
    process.once('exit', () =>
      process.getBuiltinModule('node:fs').appendFileSync(self.log, `${JSON.stringify(sums)}\n`),
    )
  }
  // One writer may call another.
  self.open = (self.open ?? 0) + 1
  const before = process.cpuUsage()
  try {
    return await work()
  } finally {
    const { user, system } = process.cpuUsage(before)
    self.open -= 1
    if (self.open === 0) self.sums[name] = (self.sums[name] ?? 0) + (user + system) / 1000
  }
}

/** Of the CPU of one crawl, in percent. */
async function share({ main, log }: Counted, pages: number, plugins: readonly string[]): Promise<number> {
  return await withSite(pages, async (site) =>
    withHome(
      async (home) => {
        await sql`create extension if not exists pg_stat_statements`.execute(home.db)
        const before = { children: endedChildrenMs(), postgres: postgresMs(home.dataDir) }
        await archivebox(home.dataDir, 'add', '--depth', '1', ...plugins, `${site}/`)
        rmSync(log, { force: true })
        const runner = startNode([main, '--data-dir', home.dataDir, 'run', '--exit-on-idle', '--daemon'], {
          stdio: 'ignore',
        })
        const [code] = await once(runner, 'exit')
        if (code !== 0 || !existsSync(log)) throw new Error(`the runner ended with ${code}`)
        const all = endedChildrenMs() - before.children + postgresMs(home.dataDir) - before.postgres
        const sums: Record<string, number> = { database: await databaseMs(home) }
        for (const line of readFileSync(log, 'utf8').trim().split('\n'))
          for (const [name, ms] of Object.entries(JSON.parse(line) as Record<string, number>))
            sums[name] = (sums[name] ?? 0) + ms
        const ours = Object.values(sums).reduce((sum, ms) => sum + ms, 0)
        const each = Object.entries(sums).map(([name, ms]) => `${name} ${(ms / pages).toFixed(3)}`)
        console.log(`crawl of ${pages}: ${(all / pages).toFixed(1)} ms CPU a page, of it ${each.join(', ')}`)
        return (100 * ours) / all
      },
      { countsStatements: true },
    ),
  )
}

/** Of statements that are about pages alone, those of triggers, too. */
async function databaseMs({ db }: Home): Promise<number> {
  const { rows } = await sql<{ ms: number }>`
    select coalesce(sum(total_exec_time), 0)::float8 as ms from pg_stat_statements
    where (query like '%archived_page%' or query like '%from crawl_pages where crawl_id%'
        or query like '%left(c.urls%' or query like '%pg_snapshot_xmin%')
      and query not like '%page_size%'`.execute(db)
  return rows[0]!.ms
}
