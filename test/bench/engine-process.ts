// One peer at work in a process of its own: `engine-process PEER MODE URL RIVALS drain|handle|idle|latency|rate N`.
// Answers with one line of JSON.
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { type Mode, type PeerName, peer } from './engine-peers.ts'

export type Measure = 'drain' | 'handle' | 'idle' | 'latency' | 'rate'

const [name, mode, url, rivals, what, text] = process.argv.slice(2) as [PeerName, Mode, string, string, Measure, string]
const number = Number(text)
const queue = await peer(name, rivals)
const client = new pg.Client(url)
await client.connect()

let handled = 0
const startedAt = new Map<number, number>()
const begun = performance.now()
const worker = await queue.work(url, mode, (id) => {
  handled += 1
  if (what === 'latency') startedAt.set(id, performance.now())
})
const measures: Record<Measure, () => Promise<object>> = { drain, handle, idle, latency, rate }
const answer = await measures[what]()
process.stdout.write(`${JSON.stringify(answer)}\n`)
await worker.stop()
await client.end()
process.exit(0)

/** Until the database shows all N jobs finished, from before the worker was there. */
async function drain(): Promise<object> {
  // Counting rows takes the server longer than the work does: not before every handler has run.
  await handle()
  while ((await queue.pending(client)) > 0) await delay(5)
  return { seconds: (performance.now() - begun) / 1000 }
}

/** N jobs, and leaves the others. */
async function handle(): Promise<object> {
  while (handled < number) await delay(5)
  return {}
}

/** How many jobs a second, for N seconds. */
async function rate(): Promise<object> {
  await delay(1_000) // A worker that has just begun is slower.
  const before = handled
  const from = performance.now()
  await delay(number * 1000)
  return { perSecond: ((handled - before) / (performance.now() - from)) * 1000 }
}

/** What waiting for work costs: transactions per second of the whole database, over N seconds. */
async function idle(): Promise<object> {
  await delay(10_000) // Loops look more and more seldom.
  const before = await transactions()
  await delay(number * 1000)
  return { perSecond: ((await transactions()) - before) / number }
}

async function transactions(): Promise<number> {
  await client.query('select pg_stat_force_next_flush()').catch(() => {}) // PostgreSQL 15 and later
  const { rows } = await client.query<{ n: string }>(
    'select xact_commit + xact_rollback as n from pg_stat_database where datname = current_database()',
  )
  return Number(rows[0]!.n)
}

/** From the call that adds a job to its handler's first line, N times. */
async function latency(): Promise<object> {
  await delay(1_500) // What a worker does when it starts is not what a job waits for.
  const samples: number[] = []
  for (let id = 1_000_000; id < 1_000_000 + number; id += 1) {
    const at = performance.now()
    await queue.add(client, id)
    for (const deadline = at + 10_000; !startedAt.has(id) && performance.now() < deadline; ) await delay(1)
    samples.push((startedAt.get(id) ?? at + 10_000) - at)
    await delay(20 + (id % 20))
  }
  return { samples }
}
