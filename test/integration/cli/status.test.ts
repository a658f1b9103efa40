import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useHomes } from '../../support/homes.ts'
import { pidsOf } from '../../support/observer.ts'
import { noTerminal, onTerminal } from '../../support/on-terminal.ts'
import { type Site, startSite } from '../../support/site.ts'
import { working } from '../../support/working.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(3)
})
afterAll(() => site.close())

type Fields = Record<string, unknown>

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
    const home = await homes.make()
    const page = `${site.url}/page-1.html`
    const { crawl, end } = await working(home, page)
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
      recent_failures: [{ url: `${site.url}/page-1.html`, outcome: 'failed', cause: expect.any(String) }],
      blocked_reason: null,
    })
  })

  it.skipIf(noTerminal)(`is one screen on a terminal ${noTerminal || ''}`, async () => {
    const home = await homes.make()
    const page = `${site.url}/page-1.html`
    const { end } = await working(home, page)
    const shown = await onTerminal(home, ['status'])
    expect(shown).toMatch(/runner +running, pid \d+, term 1/)
    expect(shown).toMatch(/^ +slow +\d+ s /m)
    expect(shown).toContain(page)
    expect(shown.split('\n').length).toBeLessThan(24)
    await end()
    expect(await onTerminal(home, ['status'])).toMatch(/runner +none[\s\S]*nothing moves\s.*archivebox-ts run/)
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
