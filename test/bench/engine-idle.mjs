// A runner that waits for work, on the library as it ships: `engine-idle.mjs URL SECONDS`. Answers with its memory in
// MB, as one line of JSON. Plain JavaScript: Node's reader of TypeScript would be half of the memory.

import { defineMachine, pgSql, Runner, withHandlers } from 'archivebox-ts/engine'
import pg from 'pg'

const [url, seconds] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString: url, max: 4 })
const machine = defineMachine({
  ...{ name: 'job', table: 'job', idType: 'bigint', initial: 'queued' },
  states: { queued: { on: { finish: 'done' }, retryAfterMs: 1_000 }, done: { final: true } },
})
const handlers = withHandlers(machine, { queued: async () => 'finish' })
const running = new Runner({ sql: pgSql(pool), models: [{ handlers }] }).run({
  runForMs: Number(seconds) * 1000 + 1_000,
})
setTimeout(
  () => process.stdout.write(`${JSON.stringify({ megabytes: process.memoryUsage.rss() / 1e6 })}\n`),
  Number(seconds) * 1000,
)
await running
await pool.end()
