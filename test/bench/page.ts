import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { sql } from 'kysely'
import type { Home } from '../../src/db/home.ts'
import { type Figure, median } from './figures.ts'
import { withHome } from './home.ts'
import { NPM_ONLY } from './plugins.ts'
import { archivebox, MAIN, nodeStartMs, startNode, until } from './program.ts'
import { withSite } from './site.ts'

type State = 'cold' | 'warm'

/**
 * One small page below an idle leader, from the spawn of `add` to the crawl sealed: cold when no worker is there, warm
 * just after another page. And one by a command that brings its own leader.
 */
export async function page(rounds: number): Promise<Figure[]> {
  const values: Record<State | 'node' | 'alone', number[]> = { node: [], cold: [], warm: [], alone: [] }
  const steps: Record<State, Steps[]> = { cold: [], warm: [] }
  await withSite(1, (site) =>
    withHome(async (home) => {
      const runner = startNode([MAIN, '--data-dir', home.dataDir, 'run', '--daemon'], { stdio: 'ignore' })
      try {
        await leading(home)
        for (let round = 0; round < rounds; round += 1) {
          values.node.push(await nodeStartMs())
          for (const state of ['cold', 'warm'] as const) {
            if (state === 'cold') await noWorkers(home)
            const { ms, ...taken } = await addToSealed(home, `${site}/page-1.html`)
            values[state].push(ms)
            steps[state].push(taken)
            // Not in step with anybody's poll.
            await new Promise((resolve) => setTimeout(resolve, 130 + 170 * round))
          }
        }
      } finally {
        await end(runner)
      }
      const add = ['add', '--run', '--again', ...NPM_ONLY, `${site}/page-1.html`]
      for (let round = 0; round < rounds; round += 1) values.alone.push((await archivebox(home.dataDir, ...add)).ms)
    }),
  )
  for (const state of ['cold', 'warm'] as const)
    console.log(`page: ${state}, ms after the spawn of add: ${stepsText(steps[state])}`)
  const figure = (name: keyof typeof values, what: string, atMost: number): Figure => ({
    bench: 'page',
    what,
    unit: 'ms',
    values: values[name],
    rival: { name: 'node -e 0', values: values.node },
    target: { atMost, of: 'value' },
  })
  return [
    figure('cold', 'add to sealed, no worker yet', 1_000),
    figure('warm', 'add to sealed, workers warm', 100),
    figure('alone', 'add --run to done', 600),
  ]
}

/** When things happened, in ms after the spawn of `add`, by the database's clock, which is ours. */
type Steps = Readonly<
  Record<'added' | 'crawl_started' | 'page_started' | 'first_hook' | 'page_sealed' | 'crawl_sealed', number>
>

async function addToSealed(home: Home, url: string): Promise<Steps & { ms: number }> {
  const since = await sealedCrawls(home)
  const epoch = Date.now()
  const begun = performance.now()
  const add = archivebox(home.dataDir, 'add', '--again', ...NPM_ONLY, url)
  await until('the crawl is sealed', 1, async () => ((await sealedCrawls(home)) > since ? true : undefined))
  const ms = performance.now() - begun
  await add
  const { rows } = await sql<Steps>`
    with c as (select * from crawl order by created_at desc limit 1), s
      as (select s.* from snapshot s, c where s.crawl_id = c.id),
    at (name, at) as (
      select 'added', created_at from c
      union all select 'crawl_' || to_status, t.at from transition t, c where t.row_id = c.id
      union all select 'page_' || to_status, t.at from transition t, s where t.row_id = s.id
      union all select 'first_hook', min(start_ts) from archive_result r, s where r.snapshot_id = s.id
    ), ms as (select name, extract(epoch from at)::float8 * 1000 - ${epoch}::float8 as ms from at)
    select ${sql.join(STEPS.map((step) => sql`min(ms) filter (where name = ${step}) as ${sql.ref(step)}`))}
      from ms`.execute(home.db)
  return { ms, ...rows[0]! }
}

const STEPS = ['added', 'crawl_started', 'page_started', 'first_hook', 'page_sealed', 'crawl_sealed'] as const

function stepsText(steps: readonly Steps[]): string {
  return STEPS.map((step) => `${step.replace('_', ' ')} ${median(steps.map((taken) => taken[step])).toFixed(0)}`).join(
    ', ',
  )
}

async function sealedCrawls(home: Home): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) from crawl where status = 'sealed'`.execute(home.db)
  return rows[0]!.count
}

async function leading(home: Home): Promise<void> {
  await until('the runner leads', 20, async () => {
    const { rows } =
      await sql`select 1 from process where worker_type = 'worker_runner' and status = 'running'`.execute(home.db)
    return rows[0] ? true : undefined
  })
}

async function noWorkers(home: Home): Promise<void> {
  await until('no worker is left', 50, async () => {
    const { rows } =
      await sql`select 1 from process where process_type in ('worker', 'hook') and ended_at is null limit 1`.execute(
        home.db,
      )
    return rows[0] ? undefined : true
  })
}

/** Drains a runner, and insists after ten seconds. */
async function end(runner: ChildProcess): Promise<void> {
  const exited = once(runner, 'exit')
  const insist = setTimeout(() => runner.kill('SIGKILL'), 10_000)
  if (runner.exitCode === null && runner.signalCode === null) {
    runner.kill('SIGTERM')
    await exited
  }
  clearTimeout(insist)
}
