// One peer at work in a process of its own: `engine-process PEER MODE URL RIVALS drain|latency N`. Answers with one line of JSON.
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { type Mode, type PeerName, peer } from './engine-peers.ts'

const [name, mode, url, rivals, what, number] = process.argv.slice(2) as [PeerName, Mode, string, string, 'drain' | 'latency', string]
const queue = await peer(name, rivals)
const client = new pg.Client(url)
await client.connect()

const started = new Map<number, number>()
let handled = 0
const begun = performance.now()
const worker = await queue.work(url, mode, (id) => {
  handled += 1
  if (what === 'latency') started.set(id, performance.now())
})

if (what === 'drain') {
  // Counting rows takes the server longer than the work does: not before every handler has run.
  while (handled < Number(number)) await delay(5)
  while ((await queue.pending(client)) > 0) await delay(5)
  process.stdout.write(`${JSON.stringify({ seconds: (performance.now() - begun) / 1000 })}\n`)
} else {
  await delay(1_500) // What a worker does when it starts is not what a job waits for.
  const samples: number[] = []
  for (let id = 1_000_000; id < 1_000_000 + Number(number); id += 1) {
    const at = performance.now()
    await queue.add(client, id)
    for (const deadline = at + 10_000; !started.has(id) && performance.now() < deadline; ) await delay(1)
    samples.push((started.get(id) ?? at + 10_000) - at)
    await delay(20 + (id % 20))
  }
  process.stdout.write(`${JSON.stringify({ samples })}\n`)
}
await worker.stop()
await client.end()
process.exit(0)
