import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { Home } from '../../src/db/home.ts'
import { endedChildrenMs, postgresMs } from './cpu.ts'
import { cpuByRole, cpuWithin, type ProfiledProgram, profiledProgram, tableOfCpu } from './cpu-profile.ts'
import type { Figure } from './figures.ts'
import { withHome } from './home.ts'
import { NPM_ONLY } from './plugins.ts'
import { archivebox, startNode } from './program.ts'
import { withSite } from './site.ts'

/** However large a crawl is, its pages on disk cost the same part of it. */
const SIZES = [200, 1_000, 5_000]
/** Two of the cheapest ways to archive a page: a browser would cost a hundred times as much. */
const PLUGINS = {
  'with wget': [NPM_ONLY[0], `${NPM_ONLY[1]},wget`],
  'npm only': NPM_ONLY,
} as const
const MOST_PERCENT = 2

/** What writes pages, and what it calls, on main threads; not what continues it after a wait elsewhere. */
const WRITERS = /src\/(?:pages|workers\/index)\//

/**
 * What the pages on disk cost of an archiving crawl, by profiles of the program that ships: the CPU of what writes
 * them, and the time of the database's statements and triggers about pages, as if all of it were CPU. What the
 * processes use their CPU for is printed for two of the crawls.
 */
export async function pageShare(rounds: number): Promise<Figure[]> {
  const kinds = Object.entries(PLUGINS).flatMap(([what, plugins]) => SIZES.map((pages) => ({ what, plugins, pages })))
  const values = new Map(kinds.map((kind) => [kind, [] as number[]]))
  const root = mkdtempSync(join(tmpdir(), 'archivebox-ts-bench-profile-'))
  try {
    chmodSync(root, 0o755) // As root, hooks run as somebody else.
    const program = profiledProgram(root)
    await profiled(program, { what: 'npm only', pages: 100, plugins: NPM_ONLY }, share) // Compiles.
    for (let round = 0; round < rounds; round += 1)
      for (const [kind, list] of values) list.push(await profiled(program, kind, share))
    for (const kind of PROFILED) {
      const table = await profiled(program, kind, async () => tableOfCpu(cpuByRole(program), kind.pages))
      console.log(`crawl of ${kind.pages} pages, ${kind.what}\n${table}`)
    }
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
  return [...values].map(([{ what, pages }, list]) => ({
    bench: 'page-share',
    what: `pages on disk, of the CPU of a crawl of ${pages}, ${what}`,
    unit: '%',
    values: list,
    target: { atMost: MOST_PERCENT, of: 'value' },
  }))
}

/** A crawl without a browser, and one with it, whose CPU is looked at by what it is for. */
const PROFILED = [
  { what: 'npm only', pages: 1_000, plugins: NPM_ONLY },
  { what: 'captures', pages: 60, plugins: ['--plugins', 'chrome,mhtml,screenshot,pdf,dom,title'] },
] as const

/** What is crawled. */
interface Kind {
  readonly what: string
  readonly pages: number
  readonly plugins: readonly string[]
}

/** A crawl that is over, by a copy of the program that ships, which profiled itself in 1,000 samples a second. */
interface Crawled {
  readonly home: Home
  readonly program: ProfiledProgram
  readonly pages: number
  /** The CPU of all of it, the database included. */
  readonly cpuMs: number
}

async function profiled<T>(
  program: ProfiledProgram,
  { what, pages, plugins }: Kind,
  look: (crawl: Crawled) => Promise<T>,
): Promise<T> {
  const crawl = async (site: string, home: Home) => {
    const { dataDir } = home
    for (const name of readdirSync(program.out)) rmSync(join(program.out, name))
    await sql`create extension if not exists pg_stat_statements`.execute(home.db)
    // Those of triggers, too.
    await sql`alter system set pg_stat_statements.track = 'all'`.execute(home.db)
    await sql`select pg_reload_conf()`.execute(home.db)
    // A data dir unpacks its browser once, for the account that hooks run as.
    if (what === 'captures') await archivebox(dataDir, 'add', '--run', '--plugins', 'chrome,title', `${site}/?first`)
    const urls = Array.from({ length: pages }, (_, at) => `${site}/page-${at + 1}.html`)
    const before = endedChildrenMs() + postgresMs(dataDir)
    await archivebox(dataDir, 'add', ...plugins, ...urls)
    const args = [program.main, '--data-dir', dataDir, 'run', '--exit-on-idle', '--daemon']
    const [code] = await once(startNode(args, { stdio: 'ignore' }), 'exit')
    if (code !== 0) throw new Error(`the runner ended with ${code}`)
    return await look({ home, program, pages, cpuMs: endedChildrenMs() + postgresMs(dataDir) - before })
  }
  const counts = { countsStatements: true }
  return await withSite(pages, async (site) => withHome((home) => crawl(site, home), counts))
}

/** Of the CPU of one crawl, in percent. */
async function share({ home, program, pages, cpuMs }: Crawled): Promise<number> {
  const [written, database] = [cpuWithin(program, WRITERS), await databaseMs(home)]
  if (written === 0) throw new Error('no profile has what writes pages')
  const [all, by, inDatabase] = [cpuMs, written, database].map((ms) => (ms / pages).toFixed(2))
  console.log(`crawl of ${pages}: ${all} ms CPU a page, of it ${by} writes pages, database ${inDatabase}`)
  return (100 * (written + database)) / cpuMs
}

/** Of statements that are about pages alone. */
async function databaseMs({ db }: Home): Promise<number> {
  const { rows } = await sql<{ ms: number }>`
    select coalesce(sum(total_exec_time), 0)::float8 as ms from pg_stat_statements
    where (query like '%archived_page%' or query like '%from crawl_pages where crawl_id%'
        or query like '%left(c.urls%' or query like '%pg_snapshot_xmin%')
      and query not like '%page_size%' and query not like '%claim_token%'`.execute(db)
  return rows[0]!.ms
}
