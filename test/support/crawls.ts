import { expect } from 'vitest'
import type { TestHome } from './homes.ts'
import { pidsOf, sealedPages } from './observer.ts'
import { processesOf } from './processes.ts'
import { eventually, type Running } from './program.ts'

/** How long a worker may take to notice that it has lost its claim: one renewal, and the end of its hook. */
export const DROPPED_MS = 40_000

/** Runs a crawl command that must succeed. @returns its output */
export async function crawl(home: TestHome, ...args: string[]): Promise<string> {
  const { code, stderr } = await home.run(['crawl', ...args])
  expect(code, stderr).toBe(0)
  return stderr
}

/** The number of pages by status. */
export const statuses = async (home: TestHome) =>
  Object.fromEntries(
    (await home.query<{ status: string; count: string }>('select status, count(*) from snapshot group by 1')).map(
      ({ status, count }) => [status, Number(count)],
    ),
  )

/**
 * Brings a runner to the middle of a crawl, whose hooks are slow from then on: some pages are sealed, some are in
 * progress, some wait.
 */
export async function halfway(
  home: TestHome,
  urls: readonly string[],
  seconds: number,
): Promise<{ id: string; runner: Running }> {
  const id = await home.add('--plugins', 'html,oracle,hashes', '-c', 'ORACLE_SECONDS=0.05', ...urls)
  const runner = home.start(['run'], { env: { MAX_SNAPSHOT_WORKERS: '2' } })
  await sealedPages(home, 2)
  await home.query(`update crawl set config = jsonb_set(config, '{env,ORACLE_SECONDS}', '"${seconds}"')`)
  // Both workers are busy.
  await eventually(() => {
    const slow = processesOf(home.dataDir).filter(({ environ }) => environ.includes(`ORACLE_SECONDS=${seconds}`))
    return new Set(slow.map(({ environ }) => environ.find((line) => line.startsWith('SNAPSHOT_ID=')))).size === 2
  })
  return { id, runner }
}

/** Makes a runner exit cleanly. */
export async function end(runner: Running): Promise<void> {
  runner.signal('SIGTERM')
  const { code, stderr } = await runner.finished()
  expect(code, stderr).toBe(0)
}

/** Checks that nothing of a crawl runs any more: no worker has a claim, and there is no hook. */
export async function nothingRuns(home: TestHome): Promise<void> {
  await eventually(() => processesOf(home.dataDir).every(({ command }) => !command.includes('oracle')), DROPPED_MS)
  await eventually(async () => (await pidsOf(home, 'hook')).length === 0)
  expect(await home.query('select id from snapshot where claimed_by is not null')).toEqual([])
  expect(await home.query('select id from crawl where claimed_by is not null')).toEqual([])
}
