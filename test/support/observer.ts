import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import type { TestHome } from './homes.ts'
import type { Order } from './outside.ts'
import { processesOf, type Seen } from './processes.ts'
import { eventually, NODE } from './program.ts'

type Kind = 'worker_runner' | 'runner_waiting' | 'crawl' | 'snapshot' | 'hook' | 'host'

/**
 * The pids of live rows of one kind, as the program itself has registered them. Only hooks with their own process
 * count.
 */
export async function pidsOf(home: TestHome, kind: Kind): Promise<number[]> {
  const where = {
    worker_runner: "worker_type = 'worker_runner'",
    runner_waiting: "worker_type = 'runner_waiting'",
    crawl: "worker_type = 'crawl'",
    snapshot: "worker_type = 'snapshot'",
    hook: "process_type = 'hook' and url is not null",
    host: "process_type = 'hook' and url is null",
  }[kind]
  const rows = await home.query<{ pid: number }>(
    `select pid from process where status in ('running', 'draining') and ${where} order by seq`,
  )
  return rows.map(({ pid }) => pid)
}

/** The open process rows: none once everything has exited cleanly. */
export async function openRows(home: TestHome): Promise<object[]> {
  return await home.query(
    `select p.process_type, p.worker_type, p.status, p.pid, p.cmd, parent.worker_type as parent,
      parent.status as parent_status,
            parent.exit_signal as parent_signal, p.ended_at, parent.ended_at as parent_ended_at
     from process p left join process parent on parent.id = p.parent_id
       where p.status in ('starting', 'running', 'draining')`,
  )
}

/** Waits until at least `count` pages are sealed. */
export async function sealedPages(home: TestHome, count: number): Promise<void> {
  await eventually(
    () => home.value<boolean>("select count(*) >= $1 from snapshot where status = 'sealed'", [count]),
    120_000,
  )
}

/** Waits until a crawl is sealed. */
export async function sealedCrawl(home: TestHome, id: string): Promise<void> {
  await eventually(() => home.value<boolean>("select status = 'sealed' from crawl where id = $1", [id]), 90_000)
}

/** Waits until the processes with these pids are gone. */
export async function gone(home: TestHome, processes: readonly Seen[], ms = 30_000): Promise<void> {
  const pids = new Set(processes.map(({ pid }) => pid))
  await eventually(() => !processesOf(home.dataDir).some(({ pid }) => pids.has(pid)), ms)
}

/**
 * Checks with the notes of the `oracle` fixture that no page was ever in progress twice at once, and that no runner's
 * hook began after the first hook of a later runner.
 * @returns the runners in the order in which their hooks began
 */
export function expectOneAtATime(home: TestHome): string[] {
  const file = join(home.dataDir, 'oracle.log')
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
  expect(lines.filter((line) => line.startsWith('OVERLAP'))).toEqual([])
  const runners: string[] = []
  for (const line of lines) {
    const [what, runner] = line.split(' ')
    if (runner === runners.at(-1)) continue
    expect(runners, `${what} of a runner that another one had followed`).not.toContain(runner)
    runners.push(runner!)
  }
  return runners
}

/** Checks that nothing waited for a lease to run out, which takes a minute: something happened all the time. */
export async function expectNoPause(home: TestHome): Promise<void> {
  const pauses = await home.query(
    `select at, next - at as long from (
       select at, lead(at) over (order by at) as next from (
         select at from transition union all
         select unnest(array[created_at, ended_at]) from process where process_type <> 'cli') as events) as pauses
     where next - at > interval '45 s'`,
  )
  expect(pauses).toEqual([])
}

/** The outside observer's findings for one data dir. */
export interface Observed {
  readonly dataDir: string
  /** Broken promises, each once. */
  readonly seen: readonly string[]
  readonly looks: number
}

/** The outside observer: one process for all homes of a test file. */
export class Observer {
  /** Resolves when it has started, which may take a while on a busy machine. */
  readonly up: Promise<unknown>
  readonly #child: ChildProcess
  readonly #waiting = new Map<string, (observed: Observed) => void>()

  constructor() {
    this.#child = spawn(
      NODE,
      ['--disable-warning=ExperimentalWarning', fileURLToPath(new URL('outside.ts', import.meta.url))],
      {
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      },
    )
    this.up = once(this.#child, 'message')
    this.#child.on('message', (observed: Observed) => this.#waiting.get(observed.dataDir)?.(observed))
    this.#child.once('exit', (code) => {
      for (const answer of this.#waiting.values())
        answer({ dataDir: '', seen: [`the observer died (${code})`], looks: 0 })
    })
  }

  watch({ databaseUrl, dataDir }: TestHome): void {
    this.#child.send({ watch: { databaseUrl, dataDir } } satisfies Order)
  }

  /** Ignores the row of this process, which a test has edited by hand. */
  forgive({ dataDir }: TestHome, processId: string): void {
    this.#child.send({ forgive: dataDir, processId } satisfies Order)
  }

  /** Ends the watch over a home. */
  async unwatch({ dataDir }: TestHome): Promise<Observed> {
    const { promise, resolve } = Promise.withResolvers<Observed>()
    this.#waiting.set(dataDir, resolve)
    this.#child.send({ unwatch: dataDir } satisfies Order)
    const observed = await promise
    this.#waiting.delete(dataDir)
    return observed
  }

  close(): void {
    if (this.#child.connected) this.#child.disconnect()
  }
}
