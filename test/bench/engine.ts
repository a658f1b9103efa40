import pg from 'pg'
import { type PeerName, peer } from './engine-peers.ts'
import { idleMegabytes, installRivals, measure } from './engine-rivals.ts'
import type { Figure } from './figures.ts'
import { withHome } from './home.ts'

const JOBS = 40_000
const DEFAULT_JOBS = 8_000
const SAMPLES = 60
const IDLE_SECONDS = 10
const PEERS: readonly PeerName[] = ['ours', 'ours, keeping rows', 'bare loop', 'graphile-worker', 'pg-boss']

/**
 * The state engine beside graphile-worker, which deletes what is done, and pg-boss, which keeps it: so do we, once like
 * this and once like that; and beside the least that such a queue can be, which keeps no other promise. Same server,
 * same run, one worker process each, a handler that does nothing.
 */
export async function engine(rounds: number): Promise<Figure[]> {
  const rivals = installRivals()
  return await withHome(async ({ databaseUrl }) => {
    const queues = Object.fromEntries(
      await Promise.all(PEERS.map(async (name) => [name, await peer(name, rivals)] as const)),
    )
    for (const name of PEERS) await queues[name]!.install(databaseUrl)
    const client = new pg.Client(databaseUrl)
    client.on('error', () => {}) // When a round breaks, the server goes before us.
    await client.connect()

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
          note(mode, name, jobs / measure(name, mode, databaseUrl, rivals, 'drain', jobs).seconds)
        }
        if (name === 'bare loop') continue // It asks again and again, and does not wait.
        const samples = measure(name, 'best', databaseUrl, rivals, 'latency', SAMPLES).samples.toSorted((a, b) => a - b)
        note('p50', name, samples[Math.floor(samples.length / 2)]!)
        note('p99', name, samples[Math.floor(samples.length * 0.99)]!)
      }
    }
    for (const name of PEERS.filter((each) => each !== 'bare loop'))
      note('idle', name, measure(name, 'best', databaseUrl, rivals, 'idle', IDLE_SECONDS).perSecond)
    const megabytes = idleMegabytes(databaseUrl, IDLE_SECONDS)
    await client.end()

    const beside =
      (rival: PeerName, us: PeerName) =>
      (what: string, key: string, unit: Figure['unit'], target?: Figure['target']) => ({
        ...{
          bench: 'engine',
          what,
          unit,
          values: seen[`${key} ${us}`]!,
          rival: { name: rival, values: seen[`${key} ${rival}`]! },
        },
        ...(target ? { target } : {}),
      })
    const graphile = beside('graphile-worker', 'ours')
    const boss = beside('pg-boss', 'ours, keeping rows')
    const bare = beside('bare loop', 'ours')
    const faster = (atLeast: number) => ({ atLeast, of: 'ratio' }) as const
    const shorter = (atMost: number) => ({ atMost, of: 'ratio' }) as const
    return [
      graphile(`drain ${JOBS} jobs, best settings, done ones deleted`, 'best', 'jobs/s', faster(1.8)),
      bare(`drain ${JOBS} jobs, best settings, done ones deleted`, 'best', 'jobs/s', faster(0.95)),
      boss(`drain ${JOBS} jobs, best settings, done ones kept`, 'best', 'jobs/s'),
      graphile('drain, ten at a time, deleted', 'default', 'jobs/s', faster(1.1)),
      boss('drain, ten at a time, kept', 'default', 'jobs/s'),
      graphile('bulk enqueue', 'enqueue', 'jobs/s', faster(1.3)),
      graphile('pickup from the call, p50', 'p50', 'ms', shorter(0.6)),
      graphile('pickup from the call, p99', 'p99', 'ms', shorter(0.5)),
      boss('pickup from the call, p50', 'p50', 'ms'),
      graphile('idle', 'idle', 'xact/s', { atMost: 2, of: 'value' }),
      boss('idle', 'idle', 'xact/s'),
      {
        bench: 'engine',
        what: 'idle, memory of the runner',
        unit: 'MB',
        values: [megabytes],
        target: { atMost: 60, of: 'value' },
      },
    ]
  })
}
