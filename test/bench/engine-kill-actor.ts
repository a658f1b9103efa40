// The process that is killed: its handler says that it has begun, and hangs the first time.
import pg from 'pg'
import { Actor, defineMachine, pgSql, serveActor, withHandlers } from '../../src/engine/index.ts'

export const machine = defineMachine({
  ...{ name: 'mortal', table: 'mortal', idType: 'bigint', columns: { owner: 'claimed_by' }, initial: 'alive' },
  states: { alive: { on: { finish: 'done' }, retryAfterMs: 1_000 }, done: { final: true } },
})

if (import.meta.main) {
  await serveActor(({ owner, with: { url } }) => {
    const pool = new pg.Pool({ connectionString: String(url), max: 2 })
    const handlers = withHandlers(machine, {
      alive: async ({ id }, { signal }) => {
        await pool.query('insert into beginning values ($1, $2, $3)', [id, process.pid, Date.now()])
        const { rows } = await pool.query('select from beginning')
        if (rows.length === 1) await new Promise((resolve) => signal.addEventListener('abort', resolve))
        return 'finish'
      },
    })
    return new Actor({ sql: pgSql(pool), handlers, owner, maxTickMs: 600_000 })
  })
}
