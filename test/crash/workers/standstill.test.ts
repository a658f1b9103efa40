// A process that stands still (stopped, or stuck where no order reaches it) must not be counted on: not as somebody who
// takes what is due, nor as somebody who will leave. Each of these waits out the time after which it is no longer
// merely slow.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { openRows, pidsOf, sealedCrawl } from '../../support/observer.ts'
import { eventually, type Running } from '../../support/program.ts'
import { sampled } from '../../support/seed.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site
let original: TestHome
beforeAll(async () => {
  site = await startSite(3)
  original = await homes.original()
})
afterAll(() => site.close())

/** A runner of which a process of this kind stands still, with nothing to do. */
async function withIdle(
  kind: 'crawl' | 'snapshot' | 'host',
  test: (home: TestHome, runner: Running) => Promise<void>,
  env: Record<string, string> = {},
): Promise<void> {
  const home = await homes.clone(original)
  const stopped: number[] = []
  try {
    const runner = home.start(['run'], { env })
    const crawl = await home.add('--plugins', 'html', `${site.url}/page-1.html`)
    await sealedCrawl(home, crawl)
    const [pid] = await eventually(async () => {
      const pids = await pidsOf(home, kind)
      return pids.length > 0 ? pids : undefined
    })
    process.kill(pid!, 'SIGSTOP')
    stopped.push(pid!)
    await test(home, runner)
    if (!runner.isOver) {
      runner.signal('SIGTERM')
      expect((await runner.finished()).code, runner.stderr).toBe(0)
    }
    expect(await openRows(home)).toEqual([])
  } finally {
    for (const pid of stopped) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // As it should be: it is gone.
      }
    }
    await homes.discard(home)
  }
}

describe.concurrent('an idle process that stands still', () => {
  it.each(sampled(['crawl', 'snapshot'] as const, 1, 'due'))(
    'a %s worker does not keep others from being started for what is due',
    (kind) =>
      withIdle(kind, async (home) => {
        const crawl = await home.add('--plugins', 'html', `${site.url}/page-2.html`)
        await sealedCrawl(home, crawl)
      }),
  )

  it.each(sampled(['crawl', 'snapshot', 'host'] as const, 1, 'leaving'))(
    'a %s process does not keep a runner from leaving',
    (kind) =>
      withIdle(kind, async (_home, runner) => {
        runner.signal('SIGTERM')
        expect((await runner.finished()).code, runner.stderr).toBe(0)
      }),
  )

  it('a crawl worker that has sealed its crawl, and cannot say so any more, does not keep a runner from leaving', () =>
    withIdle(
      'crawl',
      async (_home, runner) => {
        runner.signal('SIGTERM')
        expect((await runner.finished()).code, runner.stderr).toBe(0)
      },
      { ARCHIVEBOX_FAILPOINTS: 'publish.crawl_sealed=stop' },
    ))
})
