import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { Home } from '../../src/db/home.ts'
import { type Figure, median } from './figures.ts'
import { withHome } from './home.ts'
import { archivebox, cleanEnv, until } from './program.ts'
import { startRunner, stop } from './runner.ts'
import { withSite } from './site.ts'

const HOOKS = 10
/** How often an empty hook is run bare: one takes a millisecond or two. */
const BARE_RUNS = 20

/**
 * A page of ten empty shell hooks of a user, below a warm worker: from its start to its seal, and what each hook costs
 * beyond its own run time, which is that of the same hook spawned bare.
 */
export async function hooks(rounds: number): Promise<Figure[]> {
  const page: number[] = []
  const each: number[] = []
  const bare: number[] = []
  await withSite(1, (site) =>
    withHome(async (home) => {
      const names = Array.from({ length: HOOKS }, (_, index) => `empty_${index}`)
      const paths = names.map((name) => emptyHook(home.dataDir, name))
      const runner = startRunner(home)
      try {
        await runner.leading
        const archive = async (plugins: readonly string[]) =>
          await pageMs(home, ['--plugins', plugins.join(), `${site}/page-1.html`])
        await archive(names) // Warms the worker.
        for (let round = 0; round < rounds; round += 1) {
          const one = await archive(names.slice(0, 1))
          const ten = await archive(names)
          const alone = median(Array.from({ length: BARE_RUNS }, (_, index) => bareMs(paths[index % HOOKS]!)))
          page.push(ten)
          bare.push(alone)
          each.push((ten - one) / (HOOKS - 1) - alone)
        }
      } finally {
        await stop(runner)
      }
    }),
  )
  const target = (atMost: number) => ({ atMost, of: 'value' }) as const
  const rival = { name: 'the hook bare', values: bare }
  return [
    { bench: 'plugins', what: 'a page of 10 empty shell hooks', unit: 'ms', values: page, rival, target: target(150) },
    { bench: 'plugins', what: 'a hook beyond its run time', unit: 'ms', values: each, rival, target: target(10) },
  ]
}

function emptyHook(dataDir: string, name: string): string {
  const folder = join(dataDir, 'plugins', name)
  const path = join(folder, `on_Snapshot__40_${name}.sh`)
  mkdirSync(folder, { recursive: true })
  writeFileSync(path, '#!/bin/sh\n')
  chmodSync(path, 0o755)
  return path
}

function bareMs(path: string): number {
  const begun = performance.now()
  spawnSync(path, ['--url=http://127.0.0.1/'], { stdio: 'ignore', env: cleanEnv })
  return performance.now() - begun
}

/** Archives one page; how long it took from its start to its seal, by the database's clock. */
async function pageMs(home: Home, args: readonly string[]): Promise<number> {
  const { stdout } = await archivebox(home.dataDir, 'add', '--json', ...args)
  const { id } = JSON.parse(stdout) as { id: string }
  const took = sql<{ ms: number }>`
    select extract(epoch from max(t.at) - min(t.at))::float8 * 1000 as ms
    from transition t join snapshot s on s.id = t.row_id
    where s.crawl_id = ${id} and t.to_status in ('started', 'sealed')
    having count(*) filter (where t.to_status = 'sealed') = 1`
  return await until('the page is sealed', 5, async () => (await took.execute(home.db)).rows[0]?.ms)
}
