import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { identityOf, type ProcessIdentity } from '../../../src/processes/identity.ts'
import { type TestDatabase, useDatabases } from '../../support/engine.ts'
import { newFolder, useHomes } from '../../support/homes.ts'
import { perTest } from '../../support/per-test.ts'
import { eventually, program, ROOT, start } from '../../support/program.ts'

const folder = join(ROOT, 'src', 'db', 'migrations')
const files = readdirSync(folder)
  .filter((file) => file.endsWith('.sql'))
  .sort()

const databases = useDatabases()
const homes = useHomes()

/** A database as the first release left it, and a folder for a data dir. */
interface Old {
  readonly old: TestDatabase
  readonly dataDir: string
}

async function released(): Promise<Old> {
  const old = await databases.make(
    'create table schema_migration (version integer primary key, name text not null, ' +
      'applied_at timestamptz not null default now())',
    readFileSync(join(folder, files[0]!), 'utf8'),
    "insert into schema_migration (version, name) values (1, 'init')",
    `insert into machine (id, guid, hostname, os_platform, os_arch)
      values (gen_random_uuid(), 'another', 'elsewhere', 'linux', 'x64')`,
  )
  return { old, dataDir: newFolder() }
}
const here = perTest(released, ({ dataDir }) => rmSync(dataDir, { recursive: true, force: true }))

const call = () => ({ env: { DATA_DIR: here().dataDir, DATABASE_URL: here().old.url } })
const version = () => here().old.value<number>('select max(version) from schema_migration')

/** The heartbeat of a leader from before the clock was set back. */
const AHEAD = -3_600

/** A leader of that release, as its row shows it. */
async function leader(beatSecondsAgo: number): Promise<void> {
  await here().old.query(
    `insert into process (id, machine_id, data_dir, process_type, worker_type, status, pid, started_at, heartbeat_at,
      term)
     select gen_random_uuid(), id, '/elsewhere', 'orchestrator', 'worker_runner', 'running', 4711, now(),
       now() - make_interval(secs => $1), 1 from machine`,
    [beatSecondsAgo],
  )
}

/** The same of a process of this machine. */
async function leaderOf({ old, dataDir }: Old, { bootId, pidNamespace, pid, startTicks }: ProcessIdentity) {
  await old.query(
    `insert into process (id, machine_id, data_dir, process_type, worker_type, status, pid, boot_id, pid_namespace,
      start_ticks, started_at, heartbeat_at, term)
     select gen_random_uuid(), id, $1, 'orchestrator', 'worker_runner', 'running', $2, $3, $4, $5, now(),
       now() + interval '1 hour', 1 from machine`,
    [dataDir, pid, bootId, pidNamespace, startTicks],
  )
}

describe.concurrent('a database of an older release', () => {
  it('is brought up to date by the first command that uses it', async () => {
    const { code, stderr } = await program(['init'], call())
    expect(code, stderr).toBe(0)
    expect(stderr).toMatch(/database schema: applied/)
    expect(await version()).toBe(Number(files.at(-1)!.slice(0, 4)))
  })

  it('is looked at by db migrate --dry-run, and brought up to date by db migrate', async () => {
    expect((await program(['db', 'migrate'], call())).code).toBe(2) // No data dir is made for it.
    writeFileSync(join(here().dataDir, 'archivebox.toml'), '')
    const newest = Number(files.at(-1)!.slice(0, 4))
    const dry = await program(['db', 'migrate', '--dry-run'], call())
    expect(dry.code, dry.stderr).toBe(0)
    expect(JSON.parse(dry.stdout)).toMatchObject({ from: 1, to: newest, applied: [] })
    expect(dry.stderr).toMatch(/would apply work, containment,/)
    expect(await version()).toBe(1)
    expect((await program(['db', 'migrate'], call())).stderr).toMatch(/^applied work, containment,/)
    expect(await version()).toBe(newest)
    await here().old.query("insert into schema_migration (version, name) values (9999, 'of tomorrow')")
    const { code, stderr } = await program(['db', 'migrate'], call())
    expect(code).toBe(1)
    expect(stderr).toMatch(/schema version 9999, this program knows/)
  })

  it('has its sizes mended: what several results named belongs to the one that ended last', async () => {
    await here().old.query(`
      insert into crawl (id, urls, output_dir) values (gen_random_uuid(), 'http://x/', 'c');
      insert into snapshot (id, crawl_id, url, url_hash, output_dir, output_size)
        select gen_random_uuid(), id, 'http://x/', '', 's', 26 from crawl;
      insert into archive_result (id, snapshot_id, plugin, hook_name, attempt, status, end_ts, output_files,
        output_size)
      select gen_random_uuid(), s.id, plugin, hook, attempt, 'succeeded', now() + make_interval(secs => ended),
        files::jsonb, size
      from snapshot s, (values
        ('a', 'one', 1, 1, '{"x": {"size": 5}}', 5), ('a', 'two', 1, 3, '{"x": {"size": 5}, "y": {"size": 2}}', 7),
        ('a', 'one', 2, 2, '{"x": {"size": 6}}', 6), ('a', 'three', 1, 4, '{}', 0),
          ('b', 'one', 1, 1, '{"x": {"size": 8}}', 8)
      ) as made (plugin, hook, attempt, ended, files, size)`)
    expect((await program(['init'], call())).code).toBe(0)
    const named = await here().old.query(
      "select plugin, hook_name, output_size::int from archive_result where output_files <> '{}' order by 1",
    )
    expect(named).toEqual([
      { plugin: 'a', hook_name: 'two', output_size: 7 },
      { plugin: 'b', hook_name: 'one', output_size: 8 },
    ])
    expect(await here().old.value('select output_size::int from snapshot')).toBe(15)
    expect(await here().old.value('select count(*)::int from archive_result where output_size > 0')).toBe(2)
  })

  it('is not changed under a runner of that release: the command waits, says so once, and goes on when it has ended', async () => {
    await leader(AHEAD)
    const init = start(['init'], call())
    await init.says(/a runner of an older archivebox-ts leads \(pid 4711 on elsewhere\): waiting for it to end/)
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    expect(await version()).toBe(1)
    expect(await here().old.value('select heartbeat_at <= now() from process')).toBe(true) // It grows old now.
    await here().old.query("update process set status = 'exited', ended_at = now()")
    const { code, stderr } = await init.finished()
    expect(code, stderr).toBe(0)
    expect(stderr.match(/waiting for it to end/g)).toHaveLength(1)
    expect(await version()).toBeGreaterThan(1)
  })

  it('is taken over by a run: the runner of that release is asked to leave, and killed when it does not', async () => {
    for (const [trap, how] of [
      ["trap 'exit 0' TERM", { code: 0, signal: null }],
      ["trap '' TERM", { code: null, signal: 'SIGKILL' }],
    ] as const) {
      const old = await released()
      const child = spawn('/bin/sh', ['-c', `${trap}; echo there; while :; do sleep 0.1; done`], {
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      const ended = once(child, 'exit')
      await once(child.stdout, 'data')
      await leaderOf(old, (await identityOf(child.pid!))!)
      const { code, stderr } = await program(['run', '--exit-on-idle', '--handoff-grace', '1'], {
        env: { DATA_DIR: old.dataDir, DATABASE_URL: old.old.url },
      })
      expect(code, stderr).toBe(0)
      expect(stderr).toMatch(/older archivebox-ts leads .*: asked to hand over, waiting for it to end/)
      expect(stderr).toMatch(/leading/)
      expect(await ended).toEqual([how.code, how.signal])
      rmSync(old.dataDir, { recursive: true, force: true })
    }
  })

  it('is left as it is by a run that is interrupted while it waits, and so is the runner of that release', async () => {
    const child = spawn('/bin/sh', ['-c', "trap '' TERM; echo there; while :; do sleep 0.1; done"], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const ended = once(child, 'exit')
    await once(child.stdout, 'data')
    await leaderOf(here(), (await identityOf(child.pid!))!)
    const begun = performance.now()
    const run = start(['run', '--handoff-grace', '5'], call())
    await run.says(/asked to hand over/)
    run.signal('SIGINT')
    expect((await run.finished()).code).toBe(130)
    // Longer than the grace: nobody is left who kills.
    await new Promise((resolve) => setTimeout(resolve, 6_000 - (performance.now() - begun)))
    expect(child.exitCode ?? child.signalCode).toBeNull()
    expect(await version()).toBe(1)
    child.kill('SIGKILL')
    await ended
  })

  it('is refused when that runner stays, with what to do about it', async () => {
    await leader(0)
    const { old } = here()
    const beats = setInterval(() => void old.query('update process set heartbeat_at = now()').catch(() => {}), 5_000)
    const init = start(['init'], call())
    await init.says(/waiting for it to end/)
    const { code, stderr } = await init.finished().finally(() => clearInterval(beats))
    expect(code).toBe(1)
    expect(stderr).toMatch(/cannot be changed under it\nhint: .*kill 4711/)
    expect(await version()).toBe(1)
  })

  it('is brought up to date at once after a runner of that release was killed long ago', async () => {
    await leader(60)
    const { code, stderr } = await program(['init'], call())
    expect(code, stderr).toBe(0)
    expect(stderr).not.toMatch(/waiting/)
    expect(await version()).toBeGreaterThan(1)
  })
})

describe('a runner that starts in the very moment of a migration', () => {
  it('by a newer program leaves without having led, though it found the schema that it knows', async () => {
    const home = await homes.make()
    const migration = new pg.Client({ connectionString: home.databaseUrl })
    await migration.connect()
    try {
      await migration.query('begin')
      await migration.query('lock table process in access exclusive mode')
      const runner = home.start(['run'])
      await eventually(async () => {
        const { rows } = await migration.query(
          'select 1 from pg_locks l join pg_database d on d.oid = l.database ' +
            'and datname = current_database() where not granted',
        )
        return rows.length > 0
      })
      await migration.query("insert into schema_migration (version, name) values (9999, 'newer')")
      await migration.query('commit')
      const { code, stderr } = await runner.finished()
      expect(code, stderr).toBe(1)
      expect(stderr).toMatch(/the database has schema version 9999, this program knows \d+/)
      const [row] = await home.query("select status, promoted_at from process where process_type = 'orchestrator'")
      expect(row).toEqual({ status: 'exited', promoted_at: null })
    } finally {
      await migration.end()
    }
  })
})
