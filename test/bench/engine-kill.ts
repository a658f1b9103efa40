import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { ActorPool, pgSql } from '../../src/engine/index.ts'
import { machine } from './engine-kill-actor.ts'
import { peer } from './engine-peers.ts'
import { installRivals } from './engine-rivals.ts'
import type { Figure } from './figures.ts'
import { withHome } from './home.ts'
import { until } from './program.ts'

/**
 * How long after a kill -9 of its process a handler begins again. The rivals wait for a time to pass: that is read
 * where they keep it.
 */
export async function engineKill(rounds: number): Promise<Figure[]> {
  const rivals = installRivals()
  return await withHome(async ({ databaseUrl }) => {
    const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 })
    pool.on('error', () => {}) // When a round breaks, the server goes before us.
    await pool.query(`
      create table mortal (id bigint generated always as identity primary key, status text not null default 'alive',
        retry_at timestamptz default now(), claim_token uuid, claimed_by uuid);
      create table beginning (row_id bigint, pid int, at float8)`)
    const seconds: number[] = []
    for (let round = 0; round < rounds; round += 1) seconds.push(await killOnce(databaseUrl, pool))
    await pool.end()

    const boss = await peer('pg-boss', rivals)
    await boss.install(databaseUrl)
    const after = (name: string, setting: number): Figure => ({
      ...{ bench: 'engine-kill', what: 'kill -9 of a handler until it begins again', unit: 's', values: seconds },
      rival: { name: `${name}, its setting`, values: seconds.map(() => setting) },
      target: { atMost: 1, of: 'value' },
    })
    return [after('graphile-worker', graphileSeconds(rivals)), after('pg-boss', await bossSeconds(databaseUrl))]
  })
}

async function killOnce(url: string, client: pg.Pool): Promise<number> {
  await client.query('truncate beginning')
  await client.query('insert into mortal default values')
  const stop = new AbortController()
  const actors = { mode: 'process', module: join(import.meta.dirname, 'engine-kill-actor.ts') } as const
  const pool = new ActorPool({ sql: pgSql(client), machine, actors, launch: { url }, onError: () => {} })
  const running = pool.run({ signal: stop.signal })
  try {
    const begun = async (times: number) => {
      const { rows } = await client.query<{ pid: number; at: number }>('select pid, at from beginning order by at')
      return rows[times - 1]
    }
    const { pid } = await until('the handler begins', 10, () => begun(1))
    const killedAt = Date.now()
    process.kill(pid, 'SIGKILL')
    const { at } = await until('the handler begins again', 10, () => begun(2))
    return (at - killedAt) / 1000
  } finally {
    stop.abort()
    await running
  }
}

/** graphile-worker says it in the statement that unlocks what dead workers held. */
function graphileSeconds(rivals: string): number {
  const source = readFileSync(
    join(rivals, 'node_modules', 'graphile-worker', 'dist', 'sql', 'resetLockedAt.js'),
    'utf8',
  )
  return Number(/locked_at < .*interval '(\d+) hours'/.exec(source)![1]) * 3600
}

/** pg-boss keeps it with each queue; whether it has passed is looked at once a minute. */
async function bossSeconds(url: string): Promise<number> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (
      await client.query<{ seconds: number }>(`select expire_seconds as seconds from pgboss.queue where name = 'job'`)
    ).rows[0]!.seconds
  } finally {
    await client.end()
  }
}
