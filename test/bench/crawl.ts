import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { sql } from 'kysely'
import type { Database } from '../../src/db/database.ts'
import type { Home } from '../../src/db/home.ts'
import { bare } from './bare.ts'
import { endedChildrenMs, idleMs, postgresMs, type RoleUsage, TreeWatch } from './cpu.ts'
import type { Figure } from './figures.ts'
import { briefly, withHome } from './home.ts'
import { NPM_ONLY } from './plugins.ts'
import { archivebox, MAIN, nodeStartMs, startNode } from './program.ts'
import { withSite } from './site.ts'

const PAGES = 1_000
const CORES = availableParallelism()

interface Crawled {
  readonly cpuMs: number
  readonly wallMs: number
  /** From the crawl's start to its seal. */
  readonly workMs: number
  readonly leaveMs: number
  /** Our part of the CPU that nobody else used: ours / (ours + idle). */
  readonly busy: number
  readonly addMs: number
  readonly roles: readonly RoleUsage[]
  readonly database: DatabaseUse
  readonly bare: { readonly wallMs: number; readonly cpuMs: number }
}

/** What a database did meanwhile. */
type DatabaseUse = Readonly<Record<'transactions' | 'walSyncs' | 'walBytes' | 'statements', number>>

/**
 * A crawl of an index and the pages that it links to. CPU is user and system time of every process of ours, the
 * database server's included.
 */
export async function crawl(rounds: number): Promise<Figure[]> {
  const node: number[] = []
  const runs: Crawled[] = []
  await withSite(PAGES, async (site) => {
    for (let round = 0; round < rounds; round += 1) {
      node.push(await nodeCpuMs())
      runs.push(await withHome((home) => crawlOnce(home, site), { countsStatements: true }))
    }
  })
  for (const run of runs) console.log(tableOfRun(run))
  const pages = PAGES + 1
  return [
    {
      bench: 'crawl',
      what: `CPU per page, ${PAGES} pages`,
      unit: 'ms',
      values: runs.map(({ cpuMs }) => cpuMs / pages),
      rival: { name: 'bare script', values: runs.map(({ bare }) => bare.cpuMs / pages) },
      target: { atMost: 2, of: 'ratio' },
    },
    {
      bench: 'crawl',
      what: 'wall per page, start to seal',
      unit: 'ms',
      values: runs.map(({ workMs }) => workMs / pages),
      rival: { name: 'bare script', values: runs.map(({ bare }) => bare.wallMs / pages) },
      target: { atMost: 2, of: 'ratio' },
    },
    {
      bench: 'crawl',
      what: 'CPU per page',
      unit: 'ms',
      values: runs.map(({ cpuMs }) => cpuMs / pages),
      rival: { name: 'CPU of node -e 0', values: node },
    },
    {
      bench: 'crawl',
      what: 'statements a page, all processes',
      unit: '',
      values: runs.map(({ database }) => database.statements / pages),
      target: { atMost: 10, of: 'value' },
    },
    {
      bench: 'crawl',
      what: 'WAL fsyncs a page',
      unit: '',
      values: runs.map(({ database }) => database.walSyncs / pages),
      target: { atMost: 1.5, of: 'value' },
    },
    {
      bench: 'crawl',
      what: 'peak PSS of everything',
      unit: 'MB',
      values: runs.map(({ roles }) => roles.reduce((sum, { pssMb }) => sum + pssMb, 0)),
      target: { atMost: 400, of: 'value' },
    },
    { bench: 'crawl', what: 'wall, run to exit', unit: 's', values: runs.map(({ wallMs }) => wallMs / 1000) },
    {
      bench: 'crawl',
      what: 'throughput, start to seal',
      unit: 'pages/s',
      values: runs.map(({ workMs }) => pages / (workMs / 1000)),
    },
    {
      bench: 'crawl',
      what: `our CPU / wall / ${CORES} cores`,
      unit: '%',
      values: runs.map(({ cpuMs, wallMs }) => (cpuMs / wallMs / CORES) * 100),
    },
    // Whoever else works on this machine took their part: of the rest, how much did we use?
    {
      bench: 'crawl',
      what: 'of what others left of the cores',
      unit: '%',
      values: runs.map(({ busy }) => busy * 100),
      target: { atLeast: 80, of: 'value' },
    },
  ]
}

/** The CPU of one bare Node: the clock ticks are coarse, so of many. */
async function nodeCpuMs(times = 25): Promise<number> {
  const before = endedChildrenMs()
  for (let i = 0; i < times; i += 1) await nodeStartMs()
  return (endedChildrenMs() - before) / times
}

async function crawlOnce(home: Home, site: string): Promise<Crawled> {
  const before = { children: endedChildrenMs(), postgres: postgresMs(home.dataDir) }
  await archivebox(home.dataDir, 'add', '--depth', '1', ...NPM_ONLY, `${site}/`)
  const added = endedChildrenMs() - before.children

  const databaseBefore = await briefly(home.databaseUrl, async (db) => {
    await sql`create extension if not exists pg_stat_statements`.execute(db)
    return await databaseUse(db)
  })
  const idleBefore = idleMs()
  const begun = performance.now()
  const runner = startNode([MAIN, '--data-dir', home.dataDir, 'run', '--exit-on-idle', '--daemon'], { stdio: 'ignore' })
  const watch = new TreeWatch(runner.pid!, home.dataDir)
  const [code] = await once(runner, 'exit')
  const wallMs = performance.now() - begun
  const endedAt = Date.now()
  const idle = idleMs() - idleBefore
  const children = endedChildrenMs() - before.children
  const postgres = postgresMs(home.dataDir) - before.postgres
  const roles = watch.end()
  if (code !== 0) throw new Error(`the runner ended with ${code}`)

  const { rows } = await sql<{ pages: number; started: number; sealed: number }>`
    select (select count(*) from snapshot where status = 'sealed') as pages,
           (extract(epoch from min(at) filter (where to_status = 'started')) * 1000)::float8 as started,
           (extract(epoch from min(at) filter (where to_status = 'sealed')) * 1000)::float8 as sealed
    from transition where model = 'crawl'`.execute(home.db)
  const done = rows[0]
  if (done?.pages !== PAGES + 1) throw new Error(`${done?.pages ?? 0} pages were archived, not ${PAGES + 1}`)
  const databaseAfter = await databaseUse(home.db)
  const database = Object.fromEntries(
    Object.entries(databaseAfter).map(([name, value]) => [name, value - databaseBefore[name as keyof DatabaseUse]]),
  ) as DatabaseUse
  const { rows: urls } = await sql<{ url: string }>`select url from snapshot where depth = 1`.execute(home.db)
  const cpuMs = children + postgres
  return {
    cpuMs,
    wallMs,
    workMs: done.sealed - done.started,
    leaveMs: endedAt - done.sealed,
    busy: cpuMs / (cpuMs + idle),
    addMs: added,
    roles,
    database,
    bare: await bare(
      home,
      urls.map(({ url }) => url),
      CORES,
    ),
  }
}

async function databaseUse(db: Database): Promise<DatabaseUse> {
  await sql`select pg_stat_force_next_flush()`.execute(db)
  const { rows } = await sql<DatabaseUse>`
    select (select xact_commit from pg_stat_database where datname = current_database()) as transactions,
           (select sum(fsyncs) from pg_stat_io where object = 'wal') as "walSyncs",
           (select wal_bytes::bigint from pg_stat_wal) as "walBytes",
           (select sum(calls) from pg_stat_statements where toplevel) as statements`.execute(db)
  return rows[0]!
}

/** What a page cost, by kind of process, and what the database did for it. */
function tableOfRun({ cpuMs, wallMs, workMs, leaveMs, addMs, roles, database, bare }: Crawled): string {
  const pages = PAGES + 1
  const each = (value: number, digits = 1) => (value / pages).toFixed(digits)
  const lines = roles
    .toSorted((a, b) => b.ms - a.ms)
    .map(
      ({ role, count, ms, pssMb }) =>
        `  ${role.padEnd(18)} ${String(count).padStart(3)}  ${each(ms).padStart(6)} ms  ` +
        `${pssMb.toFixed(0).padStart(5)} MB`,
    )
  return [
    `crawl of ${pages} pages: ${(cpuMs / 1000).toFixed(2)} s CPU, ` +
      `add ${addMs} ms of it; wall ${(wallMs / 1000).toFixed(2)} s, ` +
      `of it start to seal ${(workMs / 1000).toFixed(2)} s, seal to exit ${(leaveMs / 1000).toFixed(2)} s`,
    `  plugins: ${NPM_ONLY[1]}`,
    '  processes         how many  CPU a page  memory at the peak',
    ...lines,
    `  a page: ${each(database.statements)} statements, ${each(database.transactions)} transactions, ` +
      `${each(database.walSyncs, 2)} WAL fsyncs, ${each(database.walBytes / 1024)} kB WAL`,
    `  bare script: ${each(bare.cpuMs)} ms CPU a page, wall ${(bare.wallMs / 1000).toFixed(2)} s`,
  ].join('\n')
}
