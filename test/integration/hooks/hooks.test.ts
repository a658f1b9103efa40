import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, type Result, resultsOf } from '../../support/archive.ts'
import { withPrograms } from '../../support/bare-path.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { pidsOf } from '../../support/observer.ts'
import { isThere, processesOf } from '../../support/processes.ts'
import { eventually, type Finished } from '../../support/program.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(3)
})
afterAll(() => site.close())

interface Ran {
  readonly home: TestHome
  readonly run: Finished
  /** The folder of the page. */
  readonly dir: string
  result(plugin: string): Result
  file(path: string): string
}

/** Archives one page with these fixture plugins (and built-in ones named `+name`). */
async function ran(
  plugins: readonly string[],
  settings: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<Ran> {
  const home = await homes.make()
  home.install(...plugins.filter((name) => !name.startsWith('+')))
  const only = plugins.map((name) => name.replace('+', '')).join(',')
  const crawl = await home.add(
    '--plugins',
    only,
    ...settings.flatMap((setting) => ['-c', setting]),
    `${site.url}/page-1.html`,
  )
  const run = await home.run(['run', '--exit-on-idle'], { env })
  expect(run.code, run.stderr).toBe(0)
  const [page] = await expectComplete(home, crawl)
  const results = await resultsOf(home, crawl)
  const dir = join(home.dataDir, page!.output_dir)
  return {
    home,
    run,
    dir,
    result: (plugin) => results.find((result) => result.plugin === plugin)!,
    file: (path) => readFileSync(join(dir, path), 'utf8').trim(),
  }
}

const PYTHON = withPrograms('python3')

describe.concurrent('hooks', () => {
  it('run in file-name order across plugins, background ones beside them from their first line on, and those end last', async () => {
    const { home, result, file } = await ran(['order_b', 'order_a', 'order_bg'])
    const log = readFileSync(join(home.dataDir, 'order.log'), 'utf8').trim().split('\n')
    expect(log).toEqual(['a05 order_a', 'b06 order_b', 'bg start', 'bg ready', 'a50 order_a', 'b95 order_b', 'bg term'])
    expect(result('order_bg')).toMatchObject({ status: 'succeeded' })
    expect(file('order_bg/background.txt')).toBe('all')
  })

  it.skipIf(PYTHON.missing)(`may be Python, with or without their execute bit ${PYTHON.missing || ''}`, async () => {
    const { result, file } = await ran(['py_hook'], [], { PATH: PYTHON.path })
    expect(result('py_hook')).toMatchObject({ status: 'succeeded' })
    expect(file('py_hook/made.txt')).toBe(`--url=${site.url}/page-1.html`)
  })

  it('may be shell or JavaScript, with or without their execute bit', async () => {
    const { result, file, home } = await ran(['slow', 'js_hook', 'loses_x_bit'])
    for (const plugin of ['slow', 'js_hook', 'loses_x_bit'])
      expect(result(plugin), plugin).toMatchObject({ status: 'succeeded' })
    expect(file('js_hook/made.txt')).toBe(`${site.url}/page-1.html`)
    expect(result('js_hook').output_str).toBe('js_hook/made.txt')
    expect(await home.query('select name from tag')).toEqual([{ name: 'from-js' }])
    // The page says so, too, although its crawl has none.
    expect(JSON.parse(file('index.jsonl').split('\n')[0]!)).toMatchObject({ type: 'Snapshot', tags: ['from-js'] })
    expect(file('index.html')).toMatch(/<dt>Tags<\/dt><dd>.*from-js/)
  })

  it('say how they ended: 10 is skipped, 1 is failed with the last line of stderr, no files and no record is no result', async () => {
    const { result, dir, home, run } = await ran(['exit_1', 'exit_10', 'order_a', 'slow'])
    expect(result('exit_10')).toMatchObject({ status: 'skipped', output_str: 'not configured' })
    expect(result('exit_1')).toMatchObject({ status: 'failed', output_str: 'the last complaint', output_files: {} })
    expect(result('order_a')).toMatchObject({ status: 'noresults' })
    expect(result('slow')).toMatchObject({
      status: 'succeeded',
      output_files: { 'slow.txt': { size: 5, mimetype: 'text/plain' } },
    })
    expect(existsSync(join(dir, 'exit_1'))).toBe(false)
    const exits = await home.query(
      'select r.plugin, p.exit_code, p.status from archive_result r join process p on p.id = r.process_id ' +
        "where r.plugin like 'exit%' order by 1",
    )
    expect(exits).toEqual([
      { plugin: 'exit_1', exit_code: 1, status: 'exited' },
      { plugin: 'exit_10', exit_code: 10, status: 'exited' },
    ])
    // It sleeps that long, and its row counts from its start.
    const [slow] = await home.query(
      'select extract(epoch from p.ended_at - p.started_at)::float8 as ran ' +
        "from archive_result r join process p on p.id = r.process_id where r.plugin = 'slow'",
    )
    expect(slow!['ran']).toBeGreaterThanOrEqual(0.3)
    expect(run.stderr).not.toMatch(/^\s+at /m)
  })

  it('may print what they like: only records count', async () => {
    const { result, home } = await ran(['prints_garbage'])
    expect(result('prints_garbage')).toMatchObject({ status: 'succeeded', output_str: 'one good line' })
    expect(await home.value('select count(*) from snapshot')).toBe('1')
  })

  it('get the plugin contract and what is allowed in their environment, and nothing else of ours', async () => {
    const secrets = {
      AWS_SECRET_ACCESS_KEY: 'hush',
      HOOK_ENV_ALLOW: 'HARMLESS, PGPASSWORD',
      PGPASSWORD: 'hush',
      PGHOST: '/nowhere',
      ARCHIVEBOX_DATABASE_URL: 'postgres://hush',
      HARMLESS: 'kept',
    }
    const { home, file, dir } = await ran(['env_dump'], ['TIMEOUT=7', 'COLOUR=blue'], secrets)
    const lines = file('env_dump/environ.txt').split('\n')
    const env = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    )
    const [page] = await home.query<{ id: string; crawl_id: string; crawl_dir: string }>(
      'select s.id, s.crawl_id, c.output_dir as crawl_dir from snapshot s join crawl c on c.id = s.crawl_id',
    )
    const snapDir = env['SNAP_DIR']!
    expect(snapDir.startsWith(dir)).toBe(true)
    expect(env).toMatchObject({
      DATA_DIR: home.dataDir,
      CRAWL_DIR: join(home.dataDir, page!.crawl_dir),
      CRAWL_ID: page!.crawl_id,
      SNAPSHOT_ID: page!.id,
      SNAPSHOT_DEPTH: '0',
      TIMEOUT: '7',
      COLOUR: 'blue',
      HARMLESS: 'kept',
      ABX_RUNTIME: 'archivebox',
      ARCHIVEBOX_PUBLISHED_DIR: dir,
    })
    expect(JSON.parse(env['EXTRA_CONTEXT']!)).toMatchObject({
      crawl_id: page!.crawl_id,
      snapshot_id: page!.id,
      snapshot_depth: 0,
    })
    const processId = await home.value('select id from process where id = $1', [env['ARCHIVEBOX_PROCESS_ID']])
    expect(processId).toBe(env['ARCHIVEBOX_PROCESS_ID'])
    expect(await home.value('select worker_type from process where id = $1', [env['ARCHIVEBOX_RUNNER_ID']])).toBe(
      'worker_runner',
    )
    expect(Object.keys(env).filter((key) => /^PG|DATABASE|^NODE_CHANNEL|^npm_|^AWS|^HOOK_/.test(key))).toEqual([])
    expect(lines.filter((line) => /hush|%2F|postgres:/.test(line))).toEqual([])
    expect(file('env_dump/arguments.txt')).toBe(`--url=${site.url}/page-1.html`)
    expect(file('env_dump/pwd.txt')).toBe(join(snapDir, 'env_dump'))
    expect(file('env_dump/stdin.txt')).toBe('/dev/null')
  })

  it('see what earlier ones made beside them, and their logs lie elsewhere', async () => {
    const { file, dir, result } = await ran(['slow', 'needs_slow', 'env_dump', '+html', '+staticfile'])
    expect(file('needs_slow/copy.txt')).toBe('slow')
    const siblings = file('env_dump/siblings.txt').split('\n')
    expect(siblings, 'also what found nothing').toEqual(
      expect.arrayContaining(['html', 'staticfile', 'slow', 'env_dump']),
    )
    expect(Object.keys(result('slow').output_files)).toEqual(['slow.txt'])
    expect(readdirSync(join(dir, '.logs'))).toContain('slow.on_Snapshot__41_slow.sh.1.stdout.log')
  })

  it('of the foreground that take too long get SIGTERM, then SIGKILL, with all they started, and fail', async () => {
    const { result, run } = await ran(
      ['slow', 'family', 'exit_10'],
      ['SLOW_SECONDS=1000', 'FAMILY_SECONDS=1000', 'SLOW_TIMEOUT=1', 'FAMILY_TIMEOUT=1'],
    )
    expect(result('slow')).toMatchObject({ status: 'failed', output_str: 'timed out after 1 s', output_files: {} })
    expect(result('family')).toMatchObject({ status: 'failed', output_str: 'timed out after 1 s' })
    expect(result('exit_10')).toMatchObject({ status: 'skipped' })
    expect(run.code).toBe(0)
  })
})

describe.concurrent('background hooks', () => {
  it('are asked to end, waited for as long as their timeout or grace lasts, and killed if they do not listen', async () => {
    const { result, run, file } = await ran(
      ['order_bg', 'ignores_term', 'forks_grandchild', 'writes_late', 'slow'],
      // When the page ends, writes_late and ignores_term have used up their own time. They have it to be ready, too.
      ['SLOW_SECONDS=4.1', 'WRITES_LATE_TIMEOUT=4', 'IGNORES_TERM_TIMEOUT=4', 'BACKGROUND_GRACE=6'],
      { LOG_LEVEL: 'debug' },
    )
    expect(result('order_bg')).toMatchObject({ status: 'succeeded' })
    expect(result('forks_grandchild').status).toMatch(/succeeded|noresults/)
    expect(result('ignores_term')).toMatchObject({
      status: 'failed',
      output_str: 'killed: it did not end within 6 s of SIGTERM',
    })
    expect(file('writes_late/profile.txt')).toBe('all')
    expect(run.stderr).toMatch(/SIGTERM to 4 background hooks/)
    expect(run.stderr).toMatch(/waiting up to \d+\.\d s for on_Snapshot__30_order_bg/)
    expect(run.stderr).toMatch(/SIGKILL to on_Snapshot__31_ignores_term/)
    expect(run.stderr).not.toMatch(/SIGKILL to on_Snapshot__(30|32)/)
  })

  it('that are never ready fail at their timeout, and the others run', async () => {
    const { result } = await ran(['never_ready', 'slow'], ['NEVER_READY_TIMEOUT=1'])
    expect(result('never_ready')).toMatchObject({ status: 'failed', output_str: 'timed out after 1 s' })
    expect(result('slow').status).toBe('succeeded')
  })
})

describe.concurrent('what a hook leaves running', () => {
  it('in a session of its own is ended with the hook, long before the runner leaves', async () => {
    const home = await homes.make()
    home.install('setsid_away', 'leaves_early', 'slow')
    await home.add('--plugins', 'setsid_away,leaves_early,slow', '-c', 'SLOW_SECONDS=0.2', `${site.url}/page-1.html`)
    const runner = home.start(['run'])
    await eventually(() => home.value<boolean>("select bool_and(status = 'sealed') from crawl"))
    const daemons = () => processesOf(home.dataDir).filter(({ command }) => command.startsWith('sleep 1000'))
    await eventually(() => daemons().length === 0)
    runner.signal('SIGTERM')
    expect((await runner.finished()).code).toBe(0)
  })

  it('when it was killed by a stranger is ended with it', async () => {
    const home = await homes.make()
    home.install('family')
    await home.add('--plugins', 'family', '-c', 'FAMILY_SECONDS=1000', `${site.url}/page-1.html`)
    const runner = home.start(['run', '--exit-on-idle'])
    const hook = await eventually(async () => (await pidsOf(home, 'hook'))[0])
    await eventually(
      () => processesOf(home.dataDir).filter(({ command }) => command.includes('read -r -u 8')).length >= 2,
    )
    process.kill(hook, 'SIGKILL')
    expect((await runner.finished()).code).toBe(0)
    expect(isThere(hook)).toBe(false)
    expect(processesOf(home.dataDir).map(({ command }) => command)).toEqual([])
    expect(await home.query('select status, output_str from archive_result')).toEqual([
      { status: 'failed', output_str: 'it ended with signal SIGKILL' },
    ])
  })
})
