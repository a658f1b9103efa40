// A program on `app` alone, as a server would be: it adds, follows, cancels and looks, twice at once in one process.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { add } from '../../../src/app/add/add.ts'
import { checkedUrls } from '../../../src/app/add/intake.ts'
import { newCrawl } from '../../../src/app/add/new-crawl.ts'
import type { Archive, Configured } from '../../../src/app/archive.ts'
import { crawlEnd } from '../../../src/app/follow/crawl-end.ts'
import { type FollowEvent, follow } from '../../../src/app/follow/follow.ts'
import { createCrawls } from '../../../src/app/records/create.ts'
import { remove } from '../../../src/app/records/remove.ts'
import { steer } from '../../../src/app/records/steer.ts'
import { gather } from '../../../src/app/status/facts.ts'
import { useHomes } from '../../support/homes.ts'
import { opened } from '../../support/opened.ts'
import { pageUrls, type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site
beforeAll(async () => {
  site = await startSite(6)
})
afterAll(() => site.close())

/** Queues these pages; the id of their crawl. */
async function queued(archive: Archive, configured: Configured, urls: readonly string[]): Promise<string> {
  const crawl = await newCrawl(configured, { plugins: ['html', 'title'], label: 'By a program' })
  const { crawl: row, archived } = await add(archive, { list: checkedUrls(urls), crawl })
  expect(archived).toBe(0)
  return row!.id
}

/** All that happens to a crawl. */
async function eventsOf(archive: Archive, crawlId: string, signal?: AbortSignal): Promise<FollowEvent[]> {
  return await Array.fromAsync(follow(archive, { crawlId }, signal && { signal }))
}

const outcomes = (events: readonly FollowEvent[]) =>
  events.flatMap((event) => (event.event === 'pages ended' ? event.pages.map(({ outcome }) => outcome) : []))

it('adds, follows, cancels and looks, on two archives at once', async () => {
  const both = await Promise.all([homes.make(), homes.make()])
  const facts = await Promise.all(
    both.map(
      async (home, index) =>
        await opened(home, async (archive, configured) => {
          const urls = pageUrls(site, 6).slice(3 * index, 3 * index + 3)
          const wanted = await queued(archive, configured, urls)
          const unwanted = await queued(archive, configured, [`${site.url}/unwanted`])
          expect(await steer(archive, { noun: 'crawl', verb: 'cancel', ids: [unwanted] })).toEqual({
            changed: [unwanted],
            pausedCrawls: [],
          })
          const following = eventsOf(archive, wanted)
          const runner = home.start(['run', '--exit-on-idle'])
          const events = await following
          expect(outcomes(events)).toEqual(['archived', 'archived', 'archived'])
          const last = events.at(-1)!
          if (last.event !== 'sealed') throw new Error(`the last event is ${last.event}`)
          const { record, failures, lacks } = await crawlEnd(archive, last.crawl)
          expect(record).toMatchObject({ id: wanted, label: 'By a program', snapshots: 3, archived: 3 })
          expect({ failures: failures.groups, lacks }).toEqual({ failures: [], lacks: [] })
          expect((await runner.finished()).code).toBe(0)
          return await gather(archive)
        }),
    ),
  )
  for (const [index, { data_dir, crawls, runner }] of facts.entries())
    expect({ data_dir, crawls: crawls.length, runner: runner.state }).toEqual({
      data_dir: both[index]!.dataDir,
      crawls: 0,
      runner: 'none',
    })
})

it('tells for what a crawl waits, and stops when that is asked for', async () => {
  const home = await homes.make()
  await opened(home, async (archive, configured) => {
    const crawlId = await queued(archive, configured, pageUrls(site, 1))
    const over = new AbortController()
    const waits: string[] = []
    for await (const event of follow(archive, { crawlId }, { signal: over.signal })) {
      if (event.event !== 'waits') {
        waits.push(event.event)
        continue
      }
      waits.push(event.for)
      if (event.for === 'runner') await steer(archive, { noun: 'crawl', verb: 'pause', ids: [crawlId] })
      else over.abort()
    }
    expect(waits).toEqual(['runner', 'crawl', 'stopped'])
    for await (const event of follow(archive, { crawlId })) {
      expect(event).toMatchObject({ event: 'waits', for: 'crawl' })
      break // A reader that has seen enough ends it.
    }
  })
})

it('says as data what cannot be, and what was left out', async () => {
  const home = await homes.make()
  await opened(home, async (archive, configured) => {
    const heard: unknown[] = []
    const refusals: string[] = []
    await newCrawl(
      configured,
      { plugins: ['htlm'], settings: [['TIMEUOT', '3']], urlDenylist: '(' },
      { refuse: (why, about) => void refusals.push(`${about}: ${why.message.split(':')[0]}`) },
    )
    expect(refusals).toEqual([
      'settings: TIMEUOT is not a setting',
      'plugins: there is no plugin htlm',
      'urlDenylist: ( is neither a domain nor a regular expression',
    ])
    const list = checkedUrls([`${site.url}/a`, 'ftp://127.0.0.1/x'], { tell: (event) => heard.push(event) })
    expect(heard).toEqual([{ event: 'left out', reasons: [expect.stringContaining('ftp')], more: 0 }])
    const [id] = await createCrawls(archive, [{ ...(await newCrawl(configured, {})), list }])
    const gone = await Array.fromAsync(remove(archive, { noun: 'crawl', ids: [id!, id!] }))
    expect(gone).toEqual([
      { id, removed: true, elsewhere: [] },
      { id, removed: false, elsewhere: [] },
    ])
  })
})
