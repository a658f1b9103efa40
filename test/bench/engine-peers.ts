import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { defineMachine, pgSql, Runner, withHandlers } from '../../src/engine/index.ts'

/** One queue on PostgreSQL, as its own documentation says it is fastest, and as it is when nothing is set. */
export interface Peer {
  /** Makes its tables; safe to call again. */
  install(url: string): Promise<void>
  enqueue(url: string, jobs: number): Promise<void>
  add(client: pg.Client, id: number): Promise<void>
  /** Jobs that are not finished in the database. */
  pending(client: pg.Client): Promise<number>
  work(url: string, mode: Mode, handler: (id: number) => void): Promise<{ stop(): Promise<void> }>
}
/** `single`: one job after the other. */
export type Mode = 'best' | 'default' | 'single'
export type PeerName = 'ours' | 'ours, keeping rows' | 'bare loop' | 'graphile-worker' | 'pg-boss'

/** The rivals' packages lie in `folder`, outside of this checkout. */
export async function peer(name: PeerName, folder: string): Promise<Peer> {
  if (name === 'ours') return ours('job', machine)
  if (name === 'ours, keeping rows') return ours('kept_job', keeping)
  if (name === 'bare loop') return bareLoop
  const main = createRequire(join(folder, 'package.json')).resolve(name)
  const module: unknown = await import(pathToFileURL(main).href)
  return name === 'graphile-worker' ? graphile(module as GraphileModule) : boss(module as BossModule)
}

const CHUNK = 5_000

/** Calls back with ids from 0 on, in chunks. */
async function inChunks(
  url: string,
  jobs: number,
  insert: (client: pg.Client, ids: number[]) => Promise<unknown>,
): Promise<void> {
  await connected(url, async (client) => {
    for (let from = 0; from < jobs; from += CHUNK)
      await insert(
        client,
        Array.from({ length: Math.min(CHUNK, jobs - from) }, (_, i) => from + i),
      )
  })
}

async function connected<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

const count = async (client: pg.Client, text: string) => Number((await client.query<{ n: string }>(text)).rows[0]!.n)

export const machine = defineMachine({
  ...{ name: 'job', table: 'job', idType: 'bigint', initial: 'queued' },
  states: { queued: { on: { finish: 'done' }, retryAfterMs: 1_000 }, done: { final: true, deleteAfterMs: 0 } },
})
const keeping = defineMachine({
  ...machine,
  name: 'kept_job',
  table: 'kept_job',
  states: { ...machine.states, done: { final: true } },
})

const ours = (table: string, graph: typeof machine | typeof keeping): Peer => ({
  install: (url) =>
    connected(
      url,
      async (client) =>
        void (await client.query(
          `create table if not exists ${table} (id bigint generated always as identity primary key, payload jsonb,
             status text not null default 'queued', retry_at timestamptz default now(), claim_token uuid)
             with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
           create index if not exists ${table}_due on ${table} (retry_at, id) where status = 'queued';
           create or replace function ${table}_added() returns trigger language plpgsql as $$ begin perform
             pg_notify('${table}', ''); return null; end $$;
           create or replace trigger ${table}_added after insert on ${table} for each statement
             execute function ${table}_added()`,
        )),
    ),
  enqueue: (url, jobs) =>
    inChunks(url, jobs, (client, ids) =>
      client.query(`insert into ${table} (payload) select unnest($1::jsonb[])`, [
        ids.map((id) => JSON.stringify({ id })),
      ]),
    ),
  add: async (client, id) =>
    void (await client.query({ name: 'add', text: `insert into ${table} (payload) values ($1)`, values: [{ id }] })),
  pending: (client) => count(client, `select count(*) as n from ${table} where status = 'queued'`),
  work: async (url, mode, handler) => {
    const pool = new pg.Pool({ connectionString: url, max: 4 })
    const stop = new AbortController()
    const handlers = withHandlers(graph as typeof machine, {
      queued: async ({ row }) => {
        handler((row['payload'] as { id: number }).id)
        return 'finish'
      },
    })
    const listen = async (onNews: () => void) => {
      const client = new pg.Client(url)
      await client.connect()
      client.on('notification', onNews)
      await client.query(`listen ${table}`)
      return { close: () => client.end() }
    }
    const runner = new Runner({
      sql: pgSql(pool),
      models: [{ handlers, queue: { columns: ['payload'] } }],
      concurrency: { best: 1_000, default: 10, single: 1 }[mode],
      listen,
      watchdog: false,
    })
    const running = runner.run({ signal: stop.signal })
    return {
      stop: async () => {
        stop.abort()
        await running
        await pool.end()
      },
    }
  },
})

/**
 * The least that is a queue of leases: two loops that each claim 200 rows, run them, and end them in one statement.
 * No promise is kept beyond that: no fence, no token, no graph, no renewal.
 */
const bareLoop: Peer = {
  install: (url) =>
    connected(
      url,
      async (client) =>
        void (await client.query(
          `create table if not exists bare_job (id bigint generated always as identity primary key, payload jsonb,
             status text not null default 'queued', retry_at timestamptz default now(), owner text)
             with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
           create index if not exists bare_job_due on bare_job (retry_at) where retry_at is not null`,
        )),
    ),
  enqueue: (url, jobs) =>
    inChunks(url, jobs, (client, ids) =>
      client.query('insert into bare_job (payload) select unnest($1::jsonb[])', [
        ids.map((id) => JSON.stringify({ id })),
      ]),
    ),
  add: async (client, id) => void (await client.query('insert into bare_job (payload) values ($1)', [{ id }])),
  pending: (client) => count(client, 'select count(*) as n from bare_job where retry_at is not null'),
  work: async (url, mode, handler) => {
    const size = { best: 200, default: 10, single: 1 }[mode]
    const pool = new pg.Pool({ connectionString: url, max: 2 })
    const take = {
      name: 'take',
      text: `update bare_job set retry_at = now() + interval '60 s', owner = $1 where id = any(array(
               select id from bare_job where retry_at <= now() order by retry_at for update skip locked limit ${size}))
             returning id, payload`,
    }
    const end = {
      name: 'end',
      text: "update bare_job set status = 'done', retry_at = null, owner = null where id = any($1::bigint[])",
    }
    let isOver = false
    const loop = async (name: string) => {
      while (!isOver) {
        const { rows } = await pool.query<{ id: string; payload: { id: number } }>({ ...take, values: [name] })
        for (const { payload } of rows) handler(payload.id)
        if (rows.length > 0) await pool.query({ ...end, values: [rows.map(({ id }) => id)] })
        else await delay(100)
      }
    }
    const loops = (mode === 'best' ? ['a', 'b'] : ['a']).map(loop)
    return {
      stop: async () => {
        isOver = true
        await Promise.all(loops)
        await pool.end()
      },
    }
  },
}

interface GraphileModule {
  runMigrations(options: object): Promise<void>
  run(options: object): Promise<{ stop(): Promise<void> }>
  Logger: new (make: () => () => void) => unknown
}

function graphile(module: GraphileModule): Peer {
  const logger = new module.Logger(() => () => {})
  return {
    install: (url) => module.runMigrations({ connectionString: url, logger }),
    enqueue: (url, jobs) =>
      inChunks(url, jobs, (client, ids) =>
        client.query(
          `select graphile_worker.add_jobs(array(
             select json_populate_record(null::graphile_worker.job_spec,
               json_build_object('identifier', 'job', 'payload', json_build_object('id', n)))
             from unnest($1::int[]) n))`,
          [ids],
        ),
      ),
    add: async (client, id) =>
      void (await client.query(`select graphile_worker.add_job('job', json_build_object('id', $1::int))`, [id])),
    pending: (client) => count(client, 'select count(*) as n from graphile_worker.jobs'),
    work: async (url, mode, handler) => {
      // The settings of its own performance test; by default ten jobs at once and no local queue.
      const best = {
        maxPoolSize: 25,
        preset: {
          worker: {
            concurrentJobs: 24,
            localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
            completeJobBatchDelay: 0,
            failJobBatchDelay: 0,
          },
        },
      }
      const settings = mode === 'best' ? best : { concurrency: mode === 'single' ? 1 : 10 }
      const taskList = { job: async (payload: { id: number }) => handler(payload.id) }
      const runner = await module.run({
        connectionString: url,
        logger,
        noHandleSignals: true,
        pollInterval: 1_000,
        taskList,
        ...settings,
      })
      return { stop: () => runner.stop() }
    },
  }
}

interface BossModule {
  PgBoss: new (options: object) => Boss
}
interface Boss {
  on(event: 'error', listener: () => void): void
  start(): Promise<unknown>
  stop(options: object): Promise<void>
  createQueue(name: string, options?: object): Promise<unknown>
  insert(name: string, jobs: readonly object[]): Promise<unknown>
  work(name: string, options: object, handler: (jobs: { data: { id: number } }[]) => Promise<void>): Promise<unknown>
}

function boss({ PgBoss }: BossModule): Peer {
  const open = async (url: string) => {
    const instance = new PgBoss({ connectionString: url, useListenNotify: true })
    instance.on('error', () => {})
    await instance.start()
    return instance
  }
  const withBoss = async (url: string, work: (instance: Boss) => Promise<unknown>) => {
    const instance = await open(url)
    await work(instance)
    await instance.stop({ graceful: false, wait: true })
  }
  let adder: Boss | undefined
  return {
    install: (url) => withBoss(url, (instance) => instance.createQueue('job', { notify: true })),
    enqueue: (url, jobs) =>
      withBoss(url, async (instance) => {
        for (let from = 0; from < jobs; from += CHUNK) {
          await instance.insert(
            'job',
            Array.from({ length: Math.min(CHUNK, jobs - from) }, (_, i) => ({ data: { id: from + i } })),
          )
        }
      }),
    add: async (client, id) => {
      adder ??= await open(
        `postgres://${client.user}@${encodeURIComponent(client.host)}:${client.port}/${client.database}`,
      )
      await adder.insert('job', [{ data: { id } }])
    },
    pending: (client) =>
      count(
        client,
        `select count(*) as n from pgboss.job where name = 'job' and state in ('created', 'retry', 'active')`,
      ),
    work: async (url, mode, handler) => {
      const instance = await open(url)
      const settings = { batchSize: { best: 1000, default: 10, single: 1 }[mode], burstWhenBatchFull: true }
      const take = async (jobs: { data: { id: number } }[]) => {
        for (const { data } of jobs) handler(data.id)
      }
      for (let worker = 0; worker < (mode === 'best' ? 2 : 1); worker += 1) await instance.work('job', settings, take)
      return {
        stop: async () => {
          await adder?.stop({ graceful: false, wait: true })
          await instance.stop({ graceful: false, wait: true })
        },
      }
    },
  }
}
