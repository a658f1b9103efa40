import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, expectHashes, pagesOf, resultsOf } from '../support/archive.ts'
import { type TestHome, useHomes } from '../support/homes.ts'
import { expectOneAtATime, pidsOf, sealedCrawl, sealedPages } from '../support/observer.ts'
import { processesOf } from '../support/processes.ts'
import { eventually, type Running } from '../support/program.ts'
import { NOBODY } from '../support/queued.ts'
import { type Site, startSite } from '../support/site.ts'

const FINAL = "('succeeded', 'failed', 'skipped', 'noresults')"
/** How long a worker may take to see that its claim is not its own any more: one renewal, and the end of its hook. */
const DROPPED_MS = 40_000

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(12)
})
afterAll(() => site.close())

async function newHome(...plugins: string[]): Promise<TestHome> {
  const home = await homes.make()
  home.install(...plugins)
  return home
}

const urls = (count: number) => Array.from({ length: count }, (_, i) => `${site.url}/page-${i + 1}.html`)

/** A crawl command that must do its work; what it said. */
async function crawl(home: TestHome, ...args: string[]): Promise<string> {
  const { code, stderr } = await home.run(['crawl', ...args])
  expect(code, stderr).toBe(0)
  return stderr
}

const statuses = async (home: TestHome) =>
  Object.fromEntries(
    (await home.query<{ status: string; count: string }>('select status, count(*) from snapshot group by 1')).map(
      ({ status, count }) => [status, Number(count)],
    ),
  )

/** A runner in the middle of a crawl: some pages are sealed, some are in work, some wait. */
async function halfway(seconds: number): Promise<{ home: TestHome; id: string; runner: Running }> {
  const home = await newHome('oracle')
  const id = await home.add('--plugins', 'html,oracle,hashes', '-c', 'ORACLE_SECONDS=0.05', ...urls(12))
  const runner = home.start(['run'], { env: { MAX_SNAPSHOT_WORKERS: '2' } })
  await sealedPages(home, 2)
  await home.query(`update crawl set config = jsonb_set(config, '{env,ORACLE_SECONDS}', '"${seconds}"')`)
  // Both workers are at it.
  await eventually(() => {
    const slow = processesOf(home.dataDir).filter(({ environ }) => environ.includes(`ORACLE_SECONDS=${seconds}`))
    return new Set(slow.map(({ environ }) => environ.find((line) => line.startsWith('SNAPSHOT_ID=')))).size === 2
  })
  return { home, id, runner }
}

async function end(runner: Running): Promise<void> {
  runner.signal('SIGTERM')
  const { code, stderr } = await runner.finished()
  expect(code, stderr).toBe(0)
}

/** Nothing that belongs to a crawl runs any more: no worker has a claim, no hook is there. */
async function nothingRuns(home: TestHome): Promise<void> {
  await eventually(() => processesOf(home.dataDir).every(({ command }) => !command.includes('oracle')), DROPPED_MS)
  await eventually(async () => (await pidsOf(home, 'hook')).length === 0)
  expect(await home.query('select id from snapshot where claimed_by is not null')).toEqual([])
  expect(await home.query('select id from crawl where claimed_by is not null')).toEqual([])
}

describe('crawl list', () => {
  it('refuses a status that no crawl can have', async () => {
    const home = await newHome()
    const { code, stdout, stderr } = await home.run(['crawl', 'list', '--status', 'nonsense'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toBe(
      'error: there is no status "nonsense"\nhint:  the statuses of a crawl are queued, started, paused, sealed\n',
    )
  })

  it('shows crawls newest first, filters by status, and stops at -n', async () => {
    const home = await newHome()
    const ids: string[] = []
    for (const label of ['first', 'second', 'third'])
      ids.unshift(await home.add('--label', label, '--tag', 'a,b', '--depth', '1', urls(1)[0]!))
    const list = async (...args: string[]) => {
      const { code, stdout, stderr } = await home.run(['crawl', 'list', ...args])
      expect(code, stderr).toBe(0)
      return stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Record<string, unknown>)
    }
    const all = await list()
    expect(all.map(({ id }) => id)).toEqual(ids)
    expect(all[0]).toEqual({
      type: 'Crawl',
      id: ids[0],
      urls: urls(1),
      status: 'queued',
      counts: { queued: 0, started: 0, paused: 0, archived: 0, partial: 0, failed: 0 },
      max_depth: 1,
      urls_total: 1,
      max_urls: 0,
      max_size: 0,
      tags: ['a', 'b'],
      label: 'third',
      message: '',
      created_at: expect.stringMatching(/^\d{4}-/),
      retry_at: expect.stringMatching(/^\d{4}-/),
      output_dir: expect.stringMatching(/^archive\/crawls\//),
    })
    expect((await list('-n', '2')).map(({ id }) => id)).toEqual(ids.slice(0, 2))
    await crawl(home, 'pause', ids[1]!)
    expect((await list('--status', 'paused')).map(({ id }) => id)).toEqual([ids[1]])
    expect((await list('--status', 'queued')).map(({ id }) => id)).toEqual([ids[0], ids[2]])
    expect(await list('--status', 'sealed')).toEqual([])
    expect((await home.run(['crawl', 'list', '-n', 'many'])).code).toBe(2)
  })
})

describe('crawl pause and resume', () => {
  it('puts what is queued to sleep, and run finds nothing to do; resume wakes it, and it is archived', async () => {
    const home = await newHome()
    const id = await home.add('--plugins', 'html,hashes', ...urls(2))
    expect(await crawl(home, 'pause', id)).toContain(`paused: ${id}`)
    expect(await home.query('select status, retry_at::date::text as at from crawl')).toEqual([
      { status: 'paused', at: '9999-01-01' },
    ])
    expect((await home.run(['run', '--exit-on-idle'])).stderr).toContain('nothing left to do')
    expect(await home.value('select count(*) from snapshot')).toBe('0')
    expect(await crawl(home, 'resume', id)).toContain(`queued again: ${id}`)
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    expect(await expectComplete(home, id)).toHaveLength(2)
  })

  it('takes a running crawl from its workers: nothing of it goes on, and what is done stays done; resume completes it', async () => {
    const { home, id, runner } = await halfway(1000)
    const sealed = await home.query("select id, status_changed_at from snapshot where status = 'sealed' order by id")
    await crawl(home, 'pause', id)
    const { sealed: done, paused, ...others } = await statuses(home)
    expect({ done, paused, others }).toEqual({ done: sealed.length, paused: 12 - sealed.length, others: {} })
    expect(
      await home.value("select bool_and(retry_at = '9999-01-01T00:00Z') from snapshot where status = 'paused'"),
    ).toBe(true)
    expect(await home.value("select retry_at = '9999-01-01T00:00Z' and status = 'paused' from crawl")).toBe(true)
    const hooks = "select count(*) from process where process_type = 'hook' and url is not null"
    const begun = await home.value(hooks)

    await nothingRuns(home)
    expect(await home.value(hooks)).toBe(begun)
    expect(await statuses(home)).toEqual({ sealed: done, paused })
    expect(await home.query("select id, status_changed_at from snapshot where status = 'sealed' order by id")).toEqual(
      sealed,
    )
    expect(runner.isOver).toBe(false)

    const finished = await home.query(
      `select id, status, end_ts, attempt from archive_result where status in ${FINAL} order by id`,
    )
    await home.query(`update crawl set config = jsonb_set(config, '{env,ORACLE_SECONDS}', '"0.05"')`)
    await crawl(home, 'resume', id)
    await sealedCrawl(home, id)
    expect(await expectComplete(home, id)).toHaveLength(12)
    const ids = finished.map((result) => result['id'])
    const after = await home.query(
      'select id, status, end_ts, attempt from archive_result where id = any($1) order by id',
      [ids],
    )
    expect(after).toEqual(finished)
    const results = await resultsOf(home, id)
    expect(results).toHaveLength(36)
    expect(results.every(({ status }) => status === 'succeeded')).toBe(true)
    expectOneAtATime(home)
    await end(runner)
  })

  it('counts against no limit: attempts and lives that a row had used up are there again after the pause', async () => {
    const home = await newHome()
    const id = await home.add('--plugins', 'html', urls(1)[0]!)
    expect((await home.run(['run', '--exclude', 'snapshot', '--exit-on-idle'])).code).toBe(0)
    for (const table of ['crawl', 'snapshot']) await home.query(`update ${table} set attempts = 99`)
    await crawl(home, 'pause', id)
    await crawl(home, 'resume', id)
    for (const table of ['crawl', 'snapshot'])
      expect(await home.query(`select attempts from ${table}`)).toEqual([{ attempts: 0 }])
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    await expectComplete(home, id)
    expect((await resultsOf(home, id)).map(({ status }) => status)).toEqual(['succeeded'])
  })

  it('pauses one crawl only: the others go on', async () => {
    const home = await newHome('slow')
    const paused = await home.add('--plugins', 'slow', ...urls(2))
    const other = await home.add('--plugins', 'html', urls(3)[2]!)
    await crawl(home, 'pause', paused)
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    await expectComplete(home, other)
    expect(await home.value('select status from crawl where id = $1', [paused])).toBe('paused')
    expect(await pagesOf(home, paused)).toEqual([])
  })

  it('survives the end of the runner: paused is paused for the next one, too', async () => {
    const { home, id, runner } = await halfway(1000)
    await crawl(home, 'pause', id)
    runner.signal('SIGKILL')
    await runner.finished()
    const { code, stderr } = await home.run(['run', '--exit-on-idle'])
    expect(code, stderr).toBe(0)
    await nothingRuns(home)
    expect(Object.keys(await statuses(home)).sort()).toEqual(['paused', 'sealed'])
    await home.query(`update crawl set config = jsonb_set(config, '{env,ORACLE_SECONDS}', '"0.05"')`)
    await crawl(home, 'resume', id)
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    expect(await expectComplete(home, id)).toHaveLength(12)
    expectOneAtATime(home)
  })
})

describe('crawl cancel', () => {
  it('seals a running crawl with what it has, skips what is open, and nothing of it goes on', async () => {
    const { home, id, runner } = await halfway(1000)
    const finished = await home.query(
      `select id, status, end_ts from archive_result where status in ${FINAL} order by id`,
    )
    expect(await crawl(home, 'cancel', id)).toContain(`sealed: ${id}`)
    expect(await home.query('select status, retry_at from crawl')).toEqual([{ status: 'sealed', retry_at: null }])
    expect(await statuses(home)).toEqual({ sealed: 12 })
    await nothingRuns(home)
    expect(await statuses(home)).toEqual({ sealed: 12 })
    expect(await home.query(`select id from archive_result where status not in ${FINAL}`)).toEqual([])
    const ids = finished.map((result) => result['id'])
    expect(
      await home.query('select id, status, end_ts from archive_result where id = any($1) order by id', [ids]),
    ).toEqual(finished)
    const others = await home.query<{ status: string; output_str: string }>(
      'select status, output_str from archive_result where not id = any($1)',
      [ids],
    )
    expect(others.length).toBeGreaterThan(0)
    for (const other of others) expect(other).toEqual({ status: 'skipped', output_str: 'cancelled' })
    expect(runner.isOver).toBe(false)

    const next = await home.add('--plugins', 'html', urls(1)[0]!)
    await sealedCrawl(home, next)
    await end(runner)
    expect((await home.run(['run', '--exit-on-idle'])).stderr).toContain('nothing left to do')
  })

  it('rewrites the pages of the crawl, of its snapshots and of the archive: they show what became of it', async () => {
    const { home, id, runner } = await halfway(1000)
    await crawl(home, 'cancel', id)
    const [row] = await home.query<{ output_dir: string }>('select output_dir from crawl')
    const page = (...path: string[]) => readFileSync(join(home.dataDir, ...path, 'index.html'), 'utf8')
    expect(page(row!.output_dir)).toContain('<span class="status sealed">Finished</span>')
    expect(page()).toMatch(/badge (failed|partial)/)
    for (const { output_dir } of await pagesOf(home, id))
      expect(page(output_dir)).not.toMatch(/class="(queued|started)"/)
    await nothingRuns(home)
    await end(runner)
  })

  it('seals what is queued and what is paused', async () => {
    const home = await newHome()
    const queued = await home.add('--plugins', 'html', urls(1)[0]!)
    const paused = await home.add('--plugins', 'html', urls(1)[0]!)
    await crawl(home, 'pause', paused)
    await crawl(home, 'cancel', queued, paused)
    expect(await home.query('select status, retry_at from crawl')).toEqual(
      Array(2).fill({ status: 'sealed', retry_at: null }),
    )
    expect((await home.run(['run', '--exit-on-idle'])).stderr).toContain('nothing left to do')
    expect(await home.query('select id from snapshot')).toEqual([])
  })
})

describe('crawl retry', () => {
  /** A sealed crawl of one page: `exit_1` failed, `exit_10` was skipped, `order_a` had no result, `html`, `slow` and `hashes` succeeded. */
  async function failed(): Promise<{ home: TestHome; id: string }> {
    const home = await newHome('exit_1', 'exit_10', 'order_a', 'slow')
    const id = await home.add('--plugins', 'exit_1,exit_10,order_a,slow,html,hashes', urls(1)[0]!)
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    await expectComplete(home, id)
    return { home, id }
  }

  const attempts = async (home: TestHome) =>
    (
      await home.query<{ plugin: string; status: string; attempt: number }>(
        "select plugin, status, attempt from archive_result where hook_name not like '%05_order_a%' order by plugin, attempt",
      )
    ).map(({ plugin, status, attempt }) => `${plugin} ${attempt} ${status}`)

  const FIRST = [
    'exit_1 1 failed',
    'exit_10 1 skipped',
    'hashes 1 succeeded',
    'html 1 succeeded',
    'order_a 1 noresults',
    'slow 1 succeeded',
  ]

  async function rerun(home: TestHome, id: string): Promise<string> {
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    expect(
      await home.query('select c.status, s.status as page from crawl c join snapshot s on s.crawl_id = c.id'),
    ).toEqual([{ status: 'sealed', page: 'sealed' }])
    const [page] = await pagesOf(home, id)
    const dir = join(home.dataDir, page!.output_dir)
    expect(readdirSync(dir).filter((name) => /^\.(work|publish|replaced)/.test(name) || name.endsWith('.tmp'))).toEqual(
      [],
    )
    expect(existsSync(join(dir, 'index.html'))).toBe(true)
    expectHashes(dir)
    return dir
  }

  it('runs again what ended without an output, and the hashes; earlier attempts and outputs stay', async () => {
    const { home, id } = await failed()
    expect(await attempts(home)).toEqual(FIRST)
    const before = await home.query('select * from archive_result order by id')
    expect(await crawl(home, 'retry', id)).toMatch(/4 hooks of 1 pages are queued again/)
    expect(
      await home.query(
        'select c.status, s.status as page, s.attempts from crawl c join snapshot s on s.crawl_id = c.id',
      ),
    ).toEqual([{ status: 'queued', page: 'queued', attempts: 0 }])
    const dir = await rerun(home, id)
    expect(await attempts(home)).toEqual(
      [...FIRST, 'exit_1 2 failed', 'exit_10 2 skipped', 'hashes 2 succeeded', 'order_a 2 noresults'].sort(),
    )
    // A file that was made again belongs to the later attempt.
    const handedOver = (row: Record<string, unknown>) =>
      row['plugin'] === 'hashes' ? { ...row, output_files: {}, output_size: '0' } : row
    expect(await home.query('select * from archive_result where attempt = 1 order by id')).toEqual(
      before.map(handedOver),
    )
    expect(readdirSync(join(dir, '.attempts')).sort()).toEqual([
      'exit_1.on_Snapshot__43_exit_1.sh.1',
      'exit_1.on_Snapshot__43_exit_1.sh.2',
    ])
    for (const file of ['html/output.html', 'slow/slow.txt']) expect(existsSync(join(dir, file)), file).toBe(true)
  })

  it('with --failed and --plugin runs again exactly those, and when they succeed now the page has their files', async () => {
    const { home, id } = await failed()
    expect(await crawl(home, 'retry', '--failed', '--plugin', 'html,exit_10', id)).toContain('nothing to run again')
    expect(await home.query('select status from crawl')).toEqual([{ status: 'sealed' }])
    expect(await crawl(home, 'retry', '--failed', '--plugin', 'exit_1', id)).toMatch(/1 hooks of 1 pages/)
    // What was wrong is mended.
    const hook = join(home.dataDir, 'plugins', 'exit_1', 'on_Snapshot__43_exit_1.sh')
    rmSync(hook)
    writeFileSync(hook, 'echo whole >whole.txt\n')
    const dir = await rerun(home, id)
    expect(await attempts(home)).toEqual([...FIRST, 'exit_1 2 succeeded', 'hashes 2 succeeded'].sort())
    expect(readdirSync(join(dir, 'exit_1'))).toEqual(['whole.txt'])
    expect(readdirSync(join(dir, 'slow'))).toEqual(['slow.txt'])
    expect(await crawl(home, 'retry', '--failed', id)).toContain('nothing to run again')
  })

  it('counts on: a third attempt after the second', async () => {
    const { home, id } = await failed()
    for (let attempt = 2; attempt <= 3; attempt += 1) {
      await crawl(home, 'retry', '--failed', id)
      await rerun(home, id)
    }
    expect(await attempts(home)).toEqual(
      [...FIRST, 'exit_1 2 failed', 'exit_1 3 failed', 'hashes 2 succeeded', 'hashes 3 succeeded'].sort(),
    )
  })

  it('wakes a runner that is idle', async () => {
    const { home, id } = await failed()
    const runner = home.start(['run'])
    await runner.says(/leading/)
    await crawl(home, 'retry', '--failed', id)
    await eventually(() =>
      home.value("select status = 'failed' from archive_result where plugin = 'exit_1' and attempt = 2"),
    )
    await sealedCrawl(home, id)
    await end(runner)
  })

  it('begins what was cancelled before it was begun: a crawl without pages, and pages without results', async () => {
    const { home, id, runner } = await halfway(1000)
    await crawl(home, 'cancel', id)
    const untouched = await home.add('--plugins', 'html', urls(1)[0]!)
    await end(runner)
    await crawl(home, 'cancel', untouched)
    await home.query(`update crawl set config = jsonb_set(config, '{env,ORACLE_SECONDS}', '"0.05"') where id = $1`, [
      id,
    ])
    expect(await crawl(home, 'retry', '--failed', untouched)).toContain('nothing to run again')
    await crawl(home, 'retry', id, untouched)
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    await expectComplete(home, untouched)
    expect(await statuses(home)).toEqual({ sealed: 13 })
    const latest =
      'select distinct on (snapshot_id, hook_name) status from archive_result order by snapshot_id, hook_name, attempt desc'
    expect(await home.query(`select status, count(*)::int from (${latest}) r group by 1`)).toEqual([
      { status: 'succeeded', count: 37 },
    ])
    expectOneAtATime(home)
  })

  it('of a crawl that is not there is a mistake, and nothing of it is done', async () => {
    const { home, id } = await failed()
    const { code, stdout, stderr } = await home.run(['crawl', 'retry', id, '01994f6e-0c1a-7c3e-9d55-0123456789ab'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^error: there is no crawl 01994f6e-0c1a-7c3e-9d55-0123456789ab\n/)
    expect(await attempts(home)).toEqual(FIRST)
  })

  it('leaves a crawl alone that is not at its end', async () => {
    const home = await newHome()
    const id = await home.add('--plugins', 'html', urls(1)[0]!)
    expect(await crawl(home, 'retry', id)).toContain('nothing to run again')
    expect(await home.query('select status from crawl')).toEqual([{ status: 'queued' }])
  })
})

describe('a crawl command', () => {
  it.each(['pause', 'resume', 'cancel', 'retry'])(
    'refuses what is no id: %s leaves with 2 and changes nothing',
    async (verb) => {
      const home = await newHome()
      const id = await home.add('--plugins', 'html', urls(1)[0]!)
      for (const bad of ['nonsense', `${id}x`, "' or true --", '']) {
        const { code, stdout, stderr } = await home.run(['crawl', verb, id, bad])
        expect(code, stderr).toBe(2)
        expect(stdout).toBe('')
        expect(stderr).toMatch(/^error: not an id:/)
      }
      expect(await home.query('select status from crawl')).toEqual([{ status: 'queued' }])
    },
  )

  it.each(['pause', 'resume', 'cancel'])(
    'that finds nothing to %s leaves with 1 and says in which state it found what',
    async (verb) => {
      const home = await newHome()
      const id = await home.add('--plugins', 'html', urls(1)[0]!)
      expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
      const { code, stdout, stderr } = await home.run(['crawl', verb, id])
      expect(code, stderr).toBe(1)
      expect(stdout).toBe('')
      expect(stderr).toBe(`error: no crawl to ${verb}: ${id} is sealed\n`)
      await expectComplete(home, id)
    },
  )

  it.each(['pause', 'resume', 'cancel', 'retry'])(
    'on a crawl that is not there is a mistake: %s leaves with 2, nothing changes',
    async (verb) => {
      const home = await newHome()
      const id = await home.add('--plugins', 'html', urls(1)[0]!)
      const { code, stdout, stderr } = await home.run(['crawl', verb, id, NOBODY])
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toMatch(`error: there is no crawl ${NOBODY}\n`)
      expect(await home.query('select status from crawl')).toEqual([{ status: 'queued' }])
    },
  )

  it('works on those that it can change, and ids may be written in capitals', async () => {
    const home = await newHome()
    const id = await home.add('--plugins', 'html', urls(1)[0]!)
    const other = await home.add('--plugins', 'html', urls(1)[0]!)
    expect(await crawl(home, 'pause', id.toUpperCase())).toBe(`paused: ${id}\n`)
    expect(await crawl(home, 'pause', id, other)).toBe(`paused: ${other}\nleft as they are: ${id} is paused\n`)
    expect((await home.run(['crawl', 'pause', id])).code).toBe(1)
    await crawl(home, 'cancel', other)
    await crawl(home, 'resume', id)
    expect((await home.run(['crawl', 'resume', id])).code).toBe(1)
  })
})
