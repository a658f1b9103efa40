import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FAILPOINTS } from '../../../src/base/failpoint.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { expectOneAtATime, openRows, pidsOf, sealedCrawl } from '../../support/observer.ts'
import { eventually, type Running } from '../../support/program.ts'
import { pages, type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site
beforeAll(async () => {
  site = await startSite(pages(2))
})
afterAll(() => site.close())

/** The steps of a challenger that find an older runner, in their order, up to the one before its promotion. */
const STEPS = ['registered', 'looked', 'asked', 'signalled', 'older_gone', 'locked', 'reaped'].map(
  (step) => `gate.${step}`,
)

async function leads(home: TestHome, runner: Running): Promise<void> {
  await eventually(async () => {
    expect(runner.isOver, runner.stderr).toBe(false)
    const rows = await home.query("select pid from process where worker_type = 'worker_runner' and status = 'running'")
    return rows.length === 1 && rows[0]!['pid'] === runner.pid
  })
}

describe.concurrent('a challenger that ends before it leads', () => {
  it.each([
    ['killed with -9', 'kill9'],
    ['told to stop', 'term'],
  ])('leaves the older one leading, whichever step of the gate it had come to: %s', async (_how, action) => {
    const home = await homes.make()
    const older = home.start(['run'])
    await older.says(/leading/)
    // A signal is heard a turn of the loop later: at the last step it comes too late.
    for (const step of action === 'term' ? STEPS.slice(0, -1) : STEPS) {
      const newer = home.start(['run'], { env: { ARCHIVEBOX_FAILPOINTS: `${step}=${action}` } })
      await newer.finished()
      expect(newer.stderr, step).not.toMatch(/leading/)
      await leads(home, older)
    }
    const crawl = await home.add('--plugins', 'html', `${site.url}/`)
    await sealedCrawl(home, crawl)
    older.signal('SIGTERM')
    const { code, stderr } = await older.finished()
    expect(code, stderr).toBe(0)
    expect(stderr).toMatch(/drained \(SIGTERM\)/)
    expect(await openRows(home)).toEqual([])
    expect(FAILPOINTS).toEqual(expect.arrayContaining(STEPS))
  })

  it('leaves the older one leading when this machine does not offer what it was told to lead with', async () => {
    const home = await homes.make()
    const older = home.start(['run'])
    await older.says(/leading/)
    const { code, stderr } = await home.run(['run'], { env: { HOOK_USER: 'nobody-of-this-name' } })
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^error: HOOK_USER=nobody-of-this-name: /m)])
    await leads(home, older)
    older.signal('SIGTERM')
    expect((await older.finished()).code, older.stderr).toBe(0)
  })

  it('leaves an older one leading whose first statements were under way', async () => {
    const home = await homes.make()
    const holder = new pg.Client({ connectionString: home.databaseUrl })
    await holder.connect()
    try {
      await holder.query('begin; lock table crawl in exclusive mode')
      const older = home.start(['run'])
      await older.says(/leading/)
      const newer = home.start(['run'], { env: { ARCHIVEBOX_FAILPOINTS: 'gate.older_gone=kill9' } })
      await newer.finished()
      await holder.query('rollback')
      await leads(home, older)
      older.signal('SIGTERM')
      expect((await older.finished()).code, older.stderr).toBe(0)
    } finally {
      await holder.end()
    }
  })

  it('leaves the work to the older one: hooks that it was draining end, and the rest is done', async () => {
    const home = await homes.make()
    home.install('oracle')
    home.hold('oracle')
    const urls = [1, 2].map((number) => `${site.url}/page-${number}.html`)
    const crawl = await home.add('--plugins', 'html,oracle', '-c', 'TIMEOUT=1000', ...urls)
    const older = home.start(['run'], { env: { MAX_SNAPSHOT_WORKERS: '1' } })
    await eventually(async () => (await pidsOf(home, 'hook')).length > 0)
    const newer = home.start(['run'])
    await older.says(/draining|handing over/)
    newer.signal('SIGINT')
    expect((await newer.finished()).code, newer.stderr).toBe(0)
    home.letGo('oracle')
    await leads(home, older)
    await sealedCrawl(home, crawl)
    expectOneAtATime(home)
    older.signal('SIGTERM')
    expect((await older.finished()).code, older.stderr).toBe(0)
  })

  it('leaves the lead to nobody whom a person has told to stop as well', async () => {
    const home = await homes.make()
    const older = home.start(['run'])
    await older.says(/leading/)
    const newer = home.start(['run'], { env: { ARCHIVEBOX_FAILPOINTS: 'gate.older_gone=sleep:2000' } })
    await older.says(/handing over/)
    older.signal('SIGINT')
    newer.signal('SIGINT')
    for (const runner of [older, newer]) expect((await runner.finished()).code, runner.stderr).toBe(0)
    expect(await openRows(home)).toEqual([])
  })

  it('of two, the older one of which has not led yet, leaves the other to lead', async () => {
    const home = await homes.make()
    const first = home.start(['run'], { env: { ARCHIVEBOX_FAILPOINTS: 'gate.registered=sleep:3000' } })
    await eventually(async () => (await openRows(home)).length === 1)
    const second = home.start(['run'], { env: { ARCHIVEBOX_FAILPOINTS: 'gate.looked=sleep:60000' } })
    await first.says(/a newer runner \(pid \d+\) is taking over/)
    second.signal('SIGKILL')
    await leads(home, first)
    first.signal('SIGTERM')
    expect((await first.finished()).code, first.stderr).toBe(0)
  })
})
