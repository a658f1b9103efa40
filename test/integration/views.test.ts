import { spawn, spawnSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dataDirId } from '../../src/base/data-dir-id.ts'
import { migrations } from '../../src/db/migrate.ts'
import { withPrograms } from '../support/bare-path.ts'
import { newFolder, type TestHome, useHomes } from '../support/homes.ts'
import { pidsOf } from '../support/observer.ts'
import { killAll, processesOf } from '../support/processes.ts'
import { eventually, NODE, PROGRAM, program, ROOT } from '../support/program.ts'
import { type Site, startSite } from '../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(3)
})
afterAll(() => site.close())

type Fields = Record<string, unknown>

const records = (stdout: string) =>
  stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Fields)

/** A runner that works on a page with a hook that does not end by itself, and its four levels of processes. */
async function working(): Promise<{ home: TestHome; crawl: string; page: string; end(): Promise<void> }> {
  const home = await homes.make()
  home.install('slow')
  const page = `${site.url}/page-1.html`
  const crawl = await home.add('--plugins', 'slow,html', '-c', 'SLOW_SECONDS=1000', page)
  const runner = home.start(['run'])
  await eventually(async () => (await pidsOf(home, 'hook')).length === 1)
  // Its result is written a moment after its process.
  await eventually(() => home.value("select true from archive_result where status = 'started' and plugin = 'slow'"))
  const end = async () => {
    await home.query("update crawl set config = jsonb_set(config, '{env,SLOW_SECONDS}', '\"0\"')")
    await new Promise((resolve) => setTimeout(resolve, 200)) // Two signals within 150 ms count as one.
    runner.signal('SIGTERM')
    await runner.says(/draining/)
    await new Promise((resolve) => setTimeout(resolve, 200))
    runner.signal('SIGTERM')
    expect((await runner.finished()).code).toBe(130)
  }
  return { home, crawl, page, end }
}

const SCRIPT = withPrograms('script')
const noTerminal =
  SCRIPT.missing ||
  (spawnSync('script', ['-qec', 'true', '/dev/null'], { env: { PATH: SCRIPT.path } }).status !== 0 &&
    'needs a terminal: /dev/pts')

/** What a command shows on a terminal: `script` gives it one. */
async function onTerminal(home: TestHome, args: readonly string[]): Promise<string> {
  const env = { PATH: SCRIPT.path, HOME: process.env['HOME'], TERM: 'dumb', NO_COLOR: '1' }
  const own = { DATA_DIR: home.dataDir, DATABASE_URL: home.databaseUrl }
  const command = [NODE, PROGRAM, ...args].map((word) => `'${word}'`).join(' ')
  const child = spawn('script', ['-q', '-e', '-c', command, '/dev/null'], {
    env: { ...env, ...own },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  return (await text(child.stdout)).replaceAll('\r', '')
}

describe('status', () => {
  it('says without a runner that there is none, why nothing moves, and leaves with 3; it starts nothing', async () => {
    const home = await homes.make()
    const idle = await home.run(['status', '--json'])
    expect(idle.code, idle.stderr).toBe(3)
    expect(JSON.parse(idle.stdout)).toMatchObject({
      runner: { state: 'none', pid: null, term: null },
      blocked_reason: null,
      workers: [],
    })

    await home.add('--plugins', 'html', `${site.url}/page-1.html`, `${site.url}/page-2.html`)
    const { code, stdout, stderr } = await home.run(['status'])
    expect(code, stderr).toBe(3)
    const facts = JSON.parse(stdout) as Fields
    expect(facts).toMatchObject({
      data_dir: home.dataDir,
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      machine: { id: await home.value('select id from machine'), hostname: expect.any(String) },
      database: {
        kind: 'external',
        running: true,
        server_version: expect.stringMatching(/^\d+/),
        size_bytes: expect.any(Number),
      },
      runner: { state: 'none', process_id: null, started_at: null, heartbeat_age_s: null },
      standbys: [],
      queue: {
        crawl: { queued: 1, started: 0, paused: 0, sealed: 0 },
        snapshot: { queued: 0 },
        archive_result: { failed: 0 },
      },
      due: { crawl: 1, snapshot: 0 },
      workers: [],
      recent_failures: [],
      disk: { free_bytes: expect.any(Number), archive_bytes: 0 },
    })
    expect(facts['blocked_reason']).toMatch(/no runner.*archivebox-ts run/)
    expect(await home.query("select id from process where process_type in ('orchestrator', 'worker', 'hook')")).toEqual(
      [],
    )
    expect(await home.query('select status from crawl')).toEqual([{ status: 'queued' }])
  })

  it('says with a runner who leads and who works on what, and leaves with 0', async () => {
    const { home, crawl, page, end } = await working()
    const { code, stdout, stderr } = await home.run(['status', '--json'])
    expect(code, stderr).toBe(0)
    const facts = JSON.parse(stdout) as {
      workers: Fields[]
      runner: Fields
      queue: Record<string, Record<string, number>>
    }
    const [leader] = await pidsOf(home, 'worker_runner')
    expect(facts).toMatchObject({
      runner: { state: 'running', pid: leader, term: 1, heartbeat_age_s: expect.any(Number) },
      queue: { crawl: { started: 1 }, snapshot: { started: 1 }, archive_result: { started: 1 } },
      due: { crawl: 0, snapshot: 0 },
      blocked_reason: null,
    })
    expect(Date.parse(String(facts.runner['started_at']))).toBeLessThanOrEqual(Date.now())
    const snapshot = await home.value('select id from snapshot')
    const [crawlWorker, snapshotWorker, hook] = await Promise.all(
      (['crawl', 'snapshot', 'hook'] as const).map((kind) => pidsOf(home, kind)),
    )
    const worker = (pids: readonly number[] | undefined) => facts.workers.find(({ pid }) => pids?.includes(Number(pid)))
    expect(worker(crawlWorker)).toMatchObject({ worker_type: 'crawl', crawl_id: crawl, snapshot_id: null })
    expect(worker(snapshotWorker)).toMatchObject({
      worker_type: 'snapshot',
      crawl_id: crawl,
      snapshot_id: snapshot,
      url: page,
    })
    expect(worker(hook)).toMatchObject({
      process_type: 'hook',
      hook: 'on_Snapshot__41_slow.sh',
      snapshot_id: snapshot,
      url: page,
    })
    for (const one of [crawlWorker, snapshotWorker, hook].map(worker)) {
      expect(one?.['elapsed_s']).toBeGreaterThanOrEqual(0)
      expect(one?.['rss_bytes']).toBeGreaterThan(0)
    }
    await end()
    expect((await home.run(['status'])).code).toBe(3)
  })

  it('says what failed last', async () => {
    const home = await homes.make()
    home.install('exit_1')
    await home.add('--plugins', 'exit_1', `${site.url}/page-1.html`)
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    const facts = JSON.parse((await home.run(['status'])).stdout) as Fields
    expect(facts).toMatchObject({
      queue: { crawl: { sealed: 1 }, snapshot: { sealed: 1 }, archive_result: { failed: 1 } },
      recent_failures: [{ url: `${site.url}/page-1.html`, plugin: 'exit_1', output_str: 'the last complaint' }],
      blocked_reason: null,
    })
  })

  it.skipIf(noTerminal)(`is one screen on a terminal ${noTerminal || ''}`, async () => {
    const { home, page, end } = await working()
    const shown = await onTerminal(home, ['status'])
    expect(shown).toMatch(/runner +running, pid \d+, term 1/)
    expect(shown).toContain('hook on_Snapshot__41_slow.sh')
    expect(shown).toContain(page)
    expect(shown.split('\n').length).toBeLessThan(24)
    await end()
    expect(await onTerminal(home, ['status'])).toMatch(/runner +none[\s\S]*nothing moves.*archivebox-ts run/)
  })

  it('never shows a password', async () => {
    const home = await homes.make()
    const url = home.databaseUrl.replace('//archivebox@', '//archivebox:hush@')
    const { stdout } = await home.run(['status', '--json'], { env: { DATABASE_URL: url } })
    expect(url).toContain('hush')
    expect(stdout).toContain('archivebox:***@')
    expect(stdout).not.toContain('hush')
  })
})

describe('process', () => {
  it('list shows who lives, newest first; with --all also who has ended; and filters by type, worker type and status', async () => {
    const { home, end } = await working()
    const list = async (...args: string[]) => {
      const { code, stdout, stderr } = await home.run(['process', 'list', ...args])
      expect(code, stderr).toBe(0)
      return records(stdout)
    }
    const live = await list()
    expect(live.every((record) => record['type'] === 'Process' && record['status'] === 'running')).toBe(true)
    expect(live.map((record) => `${record['process_type']} ${record['worker_type']}`)).toEqual(
      expect.arrayContaining(['orchestrator worker_runner', 'worker crawl', 'worker snapshot', 'hook ']),
    )
    const newestFirst = await home.query("select id from process where status = 'running' order by seq desc")
    expect(live.map(({ id }) => ({ id }))).toEqual(newestFirst)
    const keys =
      'type id parent_id machine_id process_type worker_type status pid pwd cmd started_at ended_at exit_code exit_signal timeout url term'
    for (const record of live) expect(Object.keys(record)).toEqual(expect.arrayContaining(keys.split(' ')))

    expect((await list('--worker-type', 'worker_runner')).map(({ pid }) => pid)).toEqual(
      await pidsOf(home, 'worker_runner'),
    )
    expect((await list('--type', 'worker')).map(({ worker_type }) => worker_type).sort()).toEqual(['crawl', 'snapshot'])
    expect((await list('--type', 'worker', '--worker-type', 'crawl')).map(({ pid }) => pid)).toEqual(
      await pidsOf(home, 'crawl'),
    )
    expect(await list('--type', 'cli')).toEqual([])
    expect(await list('--all', '--type', 'cli')).toContainEqual(
      expect.objectContaining({ process_type: 'cli', status: 'exited', exit_code: 0 }),
    )
    expect((await list('--status', 'exited')).map(({ process_type }) => process_type)).toContain('cli')
    expect(await list('--status', 'lost')).toEqual([])
    expect((await list('--all')).length).toBeGreaterThan(live.length)
    await end()
    expect(await list()).toEqual([])
  })

  it('tree shows the four levels: runner, crawl worker, snapshot worker, hook', async () => {
    const { home, page, end } = await working()
    const { code, stdout, stderr } = await home.run(['process', 'tree'])
    expect(code, stderr).toBe(0)
    const rows = records(stdout)
    const chain: Fields[] = []
    let next = rows.find(({ url }) => url === page)
    while (next) {
      chain.unshift(next)
      const { parent_id } = next
      next = rows.find(({ id }) => id === parent_id)
    }
    expect(chain).toMatchObject([
      { process_type: 'orchestrator', worker_type: 'worker_runner', parent_id: null, term: 1 },
      { process_type: 'worker', worker_type: 'crawl' },
      { process_type: 'worker', worker_type: 'snapshot' },
      { process_type: 'hook', worker_type: '', url: page },
    ])
    // As the operating system has it.
    const seen = processesOf(home.dataDir)
    for (const [index, row] of chain.entries())
      if (index > 0) expect(seen.find(({ pid }) => pid === row['pid'])?.ppid).toBe(chain[index - 1]!['pid'])
    if (!noTerminal) {
      const lines = (await onTerminal(home, ['process', 'tree'])).split('\n')
      const depth = (what: RegExp) => lines.find((line) => what.test(line))?.search(/[a-z]/) ?? -1
      const levels = [
        /^runner, leading \(term 1\)/,
        /─ crawl worker/,
        /─ snapshot worker/,
        /─ hook on_Snapshot__41_slow\.sh/,
      ].map(depth)
      expect(levels[0]).toBe(0)
      for (const [index, level] of levels.entries())
        if (index > 0) expect(level, lines.join('\n')).toBeGreaterThan(levels[index - 1]!)
    }
    await end()
    const nothing = await home.run(['process', 'tree'])
    expect({ code: nothing.code, stdout: nothing.stdout }).toEqual({ code: 0, stdout: '' })
  })

  it('tree does not show who is dead, although nobody closed its row', async () => {
    const home = await homes.make()
    const runner = home.start(['run'])
    await runner.says(/leading/)
    runner.signal('SIGKILL')
    await runner.finished()
    expect(await home.value("select status from process where worker_type = 'worker_runner'")).toBe('running')
    expect((await home.run(['process', 'tree'])).stdout).toBe('')
    expect((await home.run(['status'])).code).toBe(3)
  })
})

describe('db', () => {
  let folder: string
  const cli = (...args: string[]) => program(args, { env: { DATA_DIR: join(folder, 'data') } })
  const server = () => processesOf(folder).filter(({ command }) => command.includes('postgres'))

  beforeAll(async () => {
    folder = newFolder()
    const { code, stderr } = await cli('init')
    expect(code, stderr).toBe(0)
  })
  afterAll(async () => {
    await cli('db', 'stop', '--force')
    const left = processesOf(folder)
    killAll(left)
    rmSync(folder, { recursive: true, force: true })
    expect(left).toEqual([])
  })

  it('is down after a command, and status reads it and leaves it down', async () => {
    expect(server()).toEqual([])
    const { code, stdout, stderr } = await cli('status', '--json')
    expect(code, stderr).toBe(3)
    expect(JSON.parse(stdout)).toMatchObject({ database: { kind: 'embedded' }, runner: { state: 'none' } })
    await eventually(() => server().length === 0)
    expect(JSON.parse((await cli('db', 'status')).stdout)).toMatchObject({
      kind: 'embedded',
      running: false,
      pid: null,
      url: null,
    })
    const url = await cli('db', 'url')
    expect(url.code).toBe(1)
    expect(url.stderr).toMatch(/not running[\s\S]*db start/)
    expect(url.stdout).toBe('')
  })

  it('stays up from start to stop, through whoever comes and goes', async () => {
    expect((await cli('db', 'start')).stderr).toMatch(/started/)
    const status = JSON.parse((await cli('db', 'status')).stdout) as Fields
    expect(status).toMatchObject({ kind: 'embedded', running: true })
    const pid = Number(status['pid'])
    expect(server().some((one) => one.pid === pid)).toBe(true)
    expect((await cli('db', 'url')).stdout.trim()).toMatch(/^postgres(ql)?:\/\//)

    const again = await cli('db', 'start')
    expect(again.code).toBe(0)
    expect(again.stderr).toMatch(/running already/)
    const added = await cli('add', '--plugins', 'html', `${site.url}/page-1.html`)
    expect(added.code, added.stderr).toBe(0)
    expect((await cli('status')).code).toBe(3)
    expect(JSON.parse((await cli('db', 'status')).stdout)).toMatchObject({ running: true, pid })

    const stopped = await cli('db', 'stop')
    expect(stopped.code, stopped.stderr).toBe(0)
    await eventually(() => server().length === 0)
    expect(JSON.parse((await cli('db', 'status')).stdout)).toMatchObject({ running: false })
    const nothing = await cli('db', 'stop')
    expect(nothing.code).toBe(0)
    expect(nothing.stderr).toMatch(/was not running/)
  })

  it('is down again after a command that follows a stop', async () => {
    const { code, stdout } = await cli('crawl', 'list')
    expect(code).toBe(0)
    expect(records(stdout)).toMatchObject([{ type: 'Crawl', status: 'queued' }])
    await eventually(() => server().length === 0)
  })

  it('start and stop are refused for a database that is not ours', async () => {
    const home = await homes.make()
    for (const verb of ['start', 'stop']) {
      const { code, stderr } = await home.run(['db', verb])
      expect(code).toBe(2)
      expect(stderr).toMatch(/for the embedded server/)
    }
    expect((await home.run(['db', 'url'])).stdout.trim()).toBe(home.databaseUrl)
    expect(JSON.parse((await home.run(['db', 'status'])).stdout)).toMatchObject({
      kind: 'external',
      running: true,
      schema: migrations().at(-1)!.version,
    })
  })
})

describe('the program', () => {
  it('says its version, whichever way it is asked', async () => {
    const said = await Promise.all([['version'], ['--version'], ['-V']].map((args) => program(args)))
    for (const { code, stdout, stderr } of said)
      expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: said[0]!.stdout, stderr: '' })
    expect(said[0]!.stdout).toMatch(/^\d+\.\d+\.\d+\S*\n$/)
  })

  it('explains itself on stdout, and each verb, without touching anything', async () => {
    const env = { DATA_DIR: join(ROOT, 'no-such-folder') }
    const all = await program(['help'], { env })
    expect(all.code, all.stderr).toBe(0)
    for (const verb of ['init', 'add', 'run', 'status', 'process', 'crawl', 'db', 'version']) {
      expect(all.stdout).toMatch(new RegExp(`^ {2}${verb}\\b`, 'm'))
      const one = await program(['help', verb], { env })
      expect(one.code, one.stderr).toBe(0)
      expect(one.stdout).toContain(`Usage: archivebox-ts ${verb}`)
      if (verb !== 'version') expect(one.stdout).toBe((await program([verb, '--help'], { env })).stdout)
    }
    const add = await program(['help', 'add'], { env })
    for (const option of ['--depth', '--tag', '--plugins', '--run', '--wait', '--dry-run', 'Examples:'])
      expect(add.stdout).toContain(option)
    expect(existsSync(env.DATA_DIR)).toBe(false)
  })

  it.each([
    ['nonsense'],
    ['process', 'nonsense'],
    ['status', '--nonsense'],
    ['crawl', 'nonsense'],
    ['process', 'list', '--type'],
  ])('refuses %s %s in one line, with where to look, and leaves with 2', async (...args) => {
    const { code, stdout, stderr } = await program(args)
    expect(code).toBe(2)
    expect(stdout).toBe('')
    expect(stderr).toMatch(/^error: .*\n/)
    expect(stderr).toMatch(/Try: archivebox-ts help/)
    expect(stderr).not.toMatch(/^\s+at /m)
  })

  it('does not mind a reader that has seen enough', async () => {
    const home = await homes.make()
    // More than a pipe holds.
    await home.query(`
      insert into process (id, machine_id, data_dir, data_dir_id, process_type, status, ended_at, cmd)
      select gen_random_uuid(), m.id, '${home.dataDir}', '${await dataDirId(home.dataDir, () => {})}', 'cli', 'exited',
        now(), to_jsonb(array[repeat('x', 500)])
      from machine m, generate_series(1, 900)`)
    const env = { PATH: process.env['PATH'], DATA_DIR: home.dataDir, DATABASE_URL: home.databaseUrl, NO_COLOR: '1' }
    for (const [args, first] of [
      ['process list --all', /^\{"type":"Process"/],
      ['help', /^Usage/],
    ] as const) {
      const command = `set -o pipefail; '${NODE}' '${PROGRAM}' ${args} | head -1; echo "codes $?"`
      const child = spawn('bash', ['-c', command], { env, stdio: ['ignore', 'pipe', 'pipe'] })
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
      expect(stderr, args).toBe('')
      expect(stdout).toMatch(first)
      expect(stdout, args).toMatch(/codes 0\n$/)
    }
  })
})
