import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { sql } from 'kysely'
import type { Home } from '../../src/db/home.ts'
import { endedChildrenMs, idleMs, postgresMs, TreeWatch } from './cpu.ts'
import type { Figure } from './figures.ts'
import { withHome } from './home.ts'
import { NPM_ONLY } from './plugins.ts'
import { archivebox, MAIN, nodeStartMs, startNode } from './program.ts'
import { withSite } from './site.ts'

const PAGES = 200
const CORES = availableParallelism()

interface Crawled {
  readonly cpuMs: number
  readonly wallMs: number
  /** From the crawl's start to its seal. */
  readonly workMs: number
  readonly leaveMs: number
  /** Our part of the CPU that nobody else used: ours / (ours + idle). */
  readonly busy: number
  readonly parts: readonly string[]
}

/**
 * A crawl of an index and the 200 pages that it links to. CPU is user and system time of every process of ours, the
 * database server's included.
 */
export async function crawl(rounds: number): Promise<Figure[]> {
  const node: number[] = []
  const runs: Crawled[] = []
  await withSite(PAGES, async (site) => {
    for (let round = 0; round < rounds; round += 1) {
      node.push(await nodeCpuMs())
      runs.push(await withHome((home) => crawlOnce(home, site)))
    }
  })
  for (const { cpuMs, wallMs, workMs, leaveMs, parts } of runs) {
    console.log(
      `crawl: ${(cpuMs / 1000).toFixed(2)} s CPU (${parts.join(', ')}); wall ${(wallMs / 1000).toFixed(2)} s, of it start to seal ` +
        `${(workMs / 1000).toFixed(2)} s, seal to exit ${(leaveMs / 1000).toFixed(2)} s`,
    )
  }
  const pages = PAGES + 1
  return [
    {
      bench: 'crawl',
      what: `CPU per page, ${PAGES} pages`,
      unit: 'ms',
      values: runs.map(({ cpuMs }) => cpuMs / pages),
      rival: { name: 'CPU of node -e 0', values: node },
      target: { atMost: 6, of: 'ratio' },
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

  const idleBefore = idleMs()
  const begun = performance.now()
  const runner = startNode([MAIN, '--data-dir', home.dataDir, 'run', '--exit-on-idle', '--daemon'], { stdio: 'ignore' })
  const watch = new TreeWatch(runner.pid!)
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
  const cpuMs = children + postgres
  return {
    cpuMs,
    wallMs,
    workMs: done.sealed - done.started,
    leaveMs: endedAt - done.sealed,
    busy: cpuMs / (cpuMs + idle),
    parts: [
      `add ${added} ms`,
      ...roles.map(({ role, count, ms }) => `${count > 1 ? `${count} ` : ''}${role} about ${ms} ms`),
      `postgres ${postgres} ms`,
    ],
  }
}
