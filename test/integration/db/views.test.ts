import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dataDirId } from '../../../src/base/data-dir-id.ts'
import { useHomes } from '../../support/homes.ts'
import { pidsOf } from '../../support/observer.ts'
import { noTerminal, onTerminal } from '../../support/on-terminal.ts'
import { processesOf } from '../../support/processes.ts'
import { eventually, NODE, PROGRAM, program, ROOT } from '../../support/program.ts'
import { type Site, startSite } from '../../support/site.ts'
import { working } from '../../support/working.ts'

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

describe('process', () => {
  it('list shows who lives, newest first; with --all also who has ended; and filters by type, worker type and status', async () => {
    const home = await homes.make()
    const page = `${site.url}/page-1.html`
    const { end } = await working(home, page)
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
      'type id parent_id machine_id process_type worker_type status pid pwd cmd started_at ended_at ' +
      'exit_code exit_signal timeout url term'
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
    const home = await homes.make()
    const page = `${site.url}/page-1.html`
    const { end } = await working(home, page)
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
      const levels = [/^runner, leading \(term 1\)/, /─ crawl worker/, /─ snapshot worker/, /─ hook slow pid/].map(
        depth,
      )
      expect(levels[0]).toBe(0)
      for (const [index, level] of levels.entries())
        if (index > 0) expect(level, lines.join('\n')).toBeGreaterThan(levels[index - 1]!)
    }
    await end()
    const nothing = await home.run(['process', 'tree'])
    expect({ code: nothing.code, stdout: nothing.stdout }).toEqual({ code: 0, stdout: '' })
  })

  it.skipIf(noTerminal)('says on which page a hook or a worker is, also in a host', async () => {
    const home = await homes.make('slow')
    const settings = ['-c', 'SLOW_SECONDS=1000', '-c', 'TIMEOUT=1000']
    const [hosted, own] = [`${site.url}/hangs`, `${site.url}/page-1.html`]
    await home.add('--plugins', 'headers,slow', ...settings, hosted, own)
    const runner = home.start(['run'])
    const atWork = () => home.value("select count(*)::int = 2 from archive_result where status = 'started'")
    await eventually(async () => (await atWork()) && (await pidsOf(home, 'hook')).length === 1)

    const tree = (await onTerminal(home, ['process', 'tree'])).split('\n')
    const list = (await onTerminal(home, ['process', 'list'])).split('\n')
    for (const [hook, url] of [
      ['headers', hosted],
      ['slow', own],
    ] as const) {
      expect(tree.filter((line) => line.includes(url))).toEqual([expect.stringContaining(`─ hook ${hook} pid `)])
      const end = url.slice(url.lastIndexOf('/') + 1) // The list has less room.
      expect(list.filter((line) => line.endsWith(end))).toContainEqual(expect.stringContaining(` hook ${hook} `))
    }
    expect(tree.filter((line) => line.includes('worker pid')).join()).not.toContain('://')
    const workers = await pidsOf(home, 'snapshot')
    const shown = await Promise.all(workers.map((pid) => onTerminal(home, ['process', 'show', String(pid)])))
    expect(
      shown
        .join('')
        .match(/(?<=^url +)\S+$/gm)
        ?.sort(),
    ).toEqual([hosted, own])
    await home.kill(runner)
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
