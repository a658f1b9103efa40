import pg from 'pg'
import { pgSql, Queue } from '../../src/engine/index.ts'
import { machine, type PeerName, peer } from './engine-peers.ts'
import { installRivals, measure } from './engine-rivals.ts'
import type { Figure } from './figures.ts'
import { withHome } from './home.ts'

const FEW = 30_000
const DUE = 1_000_000
const CLAIMED = 300_000
const SECONDS = 2
const PEERS: readonly PeerName[] = ['ours', 'graphile-worker']

/**
 * Is a long queue slower than a short one? With a million rows due, and behind 300 000 that were claimed: a busy queue
 * leaves a dead head in its index, past which naive claims read each time. Nobody vacuums but the server itself, as the
 * table asks it to. The short queue is measured in turns with the long one: what else the machine does changes faster
 * than a million rows are made.
 */
export async function engineScale(rounds: number): Promise<Figure[]> {
  const rivals = installRivals()
  return await withHome(async ({ databaseUrl }) => {
    const admin = new pg.Client(databaseUrl)
    admin.on('error', () => {}) // When a round breaks, the server goes before us.
    await admin.connect()

    /** `jobs` in a database of their own. */
    const withJobs = async <T>(
      name: PeerName,
      database: string,
      jobs: number,
      work: (url: string) => Promise<T>,
    ): Promise<T> => {
      await admin.query(`create database ${database}`)
      const url = databaseUrl.replace(/\/archivebox\b(?=$|\?)/, `/${database}`)
      const queue = await peer(name, rivals)
      await queue.install(url)
      await queue.enqueue(url, jobs)
      try {
        return await work(url)
      } finally {
        await admin.query(`drop database ${database} with (force)`)
      }
    }
    /** Rates of the long queue and of a short one that was made just now. */
    const longBesideShort = async (
      name: PeerName,
      begin: (url: string) => unknown,
      rates: (long: string, short: string) => Promise<Rates>,
    ) =>
      await withJobs(name, 'long', DUE + CLAIMED, async (long) => {
        await begin(long)
        const seen: Rates[] = []
        for (let round = 0; round < rounds; round += 1)
          seen.push(await withJobs(name, 'short', FEW, (short) => rates(long, short)))
        return seen
      })

    const figures = [
      figureOf(
        'ours: single claims',
        'claims/s',
        await longBesideShort('ours', (long) => claim(long, CLAIMED), claimsPerSecond),
      ),
    ]
    for (const name of PEERS) {
      const handle = (long: string) => measure(name, 'best', long, rivals, 'handle', CLAIMED)
      const jobsPerSecond = (url: string) => measure(name, 'single', url, rivals, 'rate', SECONDS).perSecond
      const rates = async (long: string, short: string) => ({ short: jobsPerSecond(short), long: jobsPerSecond(long) })
      figures.push(figureOf(`${name}: whole jobs, one at a time`, 'jobs/s', await longBesideShort(name, handle, rates)))
    }
    await admin.end()
    return figures
  })
}

interface Rates {
  readonly long: number
  readonly short: number
}

function figureOf(what: string, unit: Figure['unit'], seen: readonly Rates[]): Figure {
  return {
    ...{
      bench: 'engine-scale',
      what: `${what}, 1 M due behind 300 k claimed`,
      unit,
      values: seen.map(({ long }) => long),
    },
    rival: { name: '30 k fresh', values: seen.map(({ short }) => short) },
    ...(what.startsWith('ours') ? { target: { atLeast: 0.8, of: 'ratio' } } : {}),
  }
}

async function withQueue<T>(url: string, work: (queue: Queue<typeof machine>) => Promise<T>): Promise<T> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return await work(new Queue(machine, pgSql(client)))
  } finally {
    await client.end()
  }
}

/** In turns of a tenth of a second, so that both have the same of what else the machine does. */
async function claimsPerSecond(long: string, short: string): Promise<Rates> {
  return await withQueue(long, (longQueue) =>
    withQueue(short, async (shortQueue) => {
      const counts = { long: 0, short: 0 }
      const ms = { long: 0, short: 0 }
      for (let turn = -10; turn < SECONDS * 20; turn += 1) {
        const which = turn % 2 === 0 ? 'long' : 'short'
        const begun = performance.now()
        let count = 0
        for (; performance.now() - begun < 100; count += 1) {
          if ((await (which === 'long' ? longQueue : shortQueue).claim()).length === 0)
            throw new Error('there is nothing left to claim')
        }
        if (turn < 0) continue // A connection that has just begun is slower.
        counts[which] += count
        ms[which] += performance.now() - begun
      }
      return { long: (counts.long / ms.long) * 1000, short: (counts.short / ms.short) * 1000 }
    }),
  )
}

async function claim(url: string, rows: number): Promise<void> {
  await withQueue(url, async (queue) => {
    for (let claimed = 0; claimed < rows; ) claimed += (await queue.claim({ limit: 1_000 })).length
  })
}
