import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { type Mode, type PeerName, peer } from './engine-peers.ts'
import type { Figure } from './figures.ts'
import { withHome } from './home.ts'

const JOBS = 40_000
const DEFAULT_JOBS = 8_000
const SAMPLES = 60
const PEERS: readonly PeerName[] = ['ours', 'graphile-worker', 'pg-boss']

/** The state engine beside graphile-worker and pg-boss: same server, same run, one worker process each, a handler that does nothing. */
export async function engine(rounds: number): Promise<Figure[]> {
  const rivals = installRivals()
  return await withHome(async ({ databaseUrl }) => {
    const queues = Object.fromEntries(await Promise.all(PEERS.map(async (name) => [name, await peer(name, rivals)] as const)))
    for (const name of PEERS) await queues[name]!.install(databaseUrl)
    const client = new pg.Client(databaseUrl)
    client.on('error', () => {}) // When a round breaks, the server goes before us.
    await client.connect()

    const measure = (name: PeerName, mode: Mode, what: 'drain' | 'latency') => {
      const args = [join(import.meta.dirname, 'engine-process.ts'), name, mode, databaseUrl, rivals, what, String(SAMPLES)]
      return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })) as {
        seconds: number
        samples: number[]
      }
    }
    const seen: Record<string, number[]> = {}
    const note = (what: string, name: PeerName, value: number) => {
      seen[`${what} ${name}`] = [...(seen[`${what} ${name}`] ?? []), value]
    }
    for (let round = 0; round < rounds; round += 1) {
      for (const name of PEERS) {
        for (const [mode, jobs] of [
          ['best', JOBS],
          ['default', DEFAULT_JOBS],
        ] as const) {
          const begun = performance.now()
          await queues[name]!.enqueue(databaseUrl, jobs)
          if (mode === 'best') note('enqueue', name, jobs / ((performance.now() - begun) / 1000))
          await client.query('vacuum analyze')
          note(mode, name, jobs / measure(name, mode, 'drain').seconds)
        }
        const samples = measure(name, 'best', 'latency').samples.toSorted((a, b) => a - b)
        note('p50', name, samples[Math.floor(samples.length / 2)]!)
        note('p99', name, samples[Math.floor(samples.length * 0.99)]!)
      }
    }
    await client.end()

    const figure = (what: string, key: string, rival: PeerName, unit: Figure['unit'], target?: Figure['target']): Figure => ({
      bench: 'engine',
      what,
      unit,
      values: seen[`${key} ours`]!,
      rival: { name: rival, values: seen[`${key} ${rival}`]! },
      ...(target ? { target } : {}),
    })
    const faster = (atLeast: number) => ({ atLeast, of: 'ratio' }) as const
    const shorter = { atMost: 0.7, of: 'ratio' } as const
    return [
      figure(`drain ${JOBS} jobs, best settings`, 'best', 'graphile-worker', 'jobs/s', faster(2)),
      figure(`drain ${JOBS} jobs, best settings`, 'best', 'pg-boss', 'jobs/s'),
      figure('drain, ten at a time', 'default', 'graphile-worker', 'jobs/s', faster(1.1)),
      figure('drain, ten at a time', 'default', 'pg-boss', 'jobs/s'),
      figure('bulk enqueue', 'enqueue', 'graphile-worker', 'jobs/s', faster(1.3)),
      figure('pickup from the call, p50', 'p50', 'graphile-worker', 'ms', shorter),
      figure('pickup from the call, p99', 'p99', 'graphile-worker', 'ms', shorter),
      figure('pickup from the call, p50', 'p50', 'pg-boss', 'ms'),
    ]
  })
}

/** The rivals, in a folder of their own outside of the checkout; installed once. */
function installRivals(): string {
  const folder = join(tmpdir(), 'archivebox-ts-bench-rivals')
  if (!existsSync(join(folder, 'node_modules', 'pg-boss'))) {
    console.error(`Installing graphile-worker and pg-boss into ${folder}`)
    mkdirSync(folder, { recursive: true })
    const dependencies = { 'graphile-worker': '0.18.0', 'pg-boss': '12.38.0' }
    // pg-boss asks for a patch release of this one that not every registry has.
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies, overrides: { 'rrule-temporal': '2.2.7' } }))
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: folder, stdio: ['ignore', 2, 2] })
  }
  return folder
}
