import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { uuidv7 } from '../../../src/base/ids.ts'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { blockHost, type HostLimits, takeTurn } from '../../../src/db/host-turns.ts'
import { pagesOf, resultsOf } from '../../support/archive.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { runAll } from '../../support/queued.ts'
import { type Route, type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let home: TestHome

beforeAll(async () => {
  home = await homes.original()
})

describe('the turns of a host', () => {
  let dbs: Database[]
  let next = 0
  beforeAll(() => {
    dbs = [1, 2, 3].map((machine) => openDatabase(home.databaseUrl, { name: `machine ${machine}`, connections: 4 }))
  })
  afterAll(async () => {
    for (const db of dbs) await db.destroy()
  })

  /** So many pages that are claimed, as workers of three machines have them. */
  async function claimed(host: string, count: number) {
    const crawl = uuidv7()
    await home.query(`insert into crawl (id, urls, output_dir, status) values ($1, 'u', 'archive/x', 'started')`, [
      crawl,
    ])
    const rows = await home.query<{ id: string; token: string }>(
      `insert into snapshot (id, crawl_id, url, url_hash, output_dir, status, claim_token, claimed_by)
       select gen_random_uuid(), $1, 'u', sha256(n::text::bytea), 'archive/x', 'started', gen_random_uuid(),
         gen_random_uuid()
       from generate_series(1, $2::int) n returning id, claim_token as token`,
      [crawl, count],
    )
    return rows.map(({ id, token }) => ({ host, snapshotId: id, token }))
  }
  type Page = Awaited<ReturnType<typeof claimed>>[number]
  const ask = (page: Page, limits: HostLimits) => takeTurn(dbs[next++ % dbs.length]!, page, limits)
  const end = (page: Page) =>
    home.query('update snapshot set claim_token = null, claimed_by = null where id = $1', [page.snapshotId])
  const startsAt = async (host: string) =>
    (
      await home.query<{ ms: number }>(
        'select extract(epoch from starts_at)::float8 * 1000 as ms from host_turn where host = $1 order by starts_at',
        [host],
      )
    ).map(({ ms }) => ms)

  it('are a delay apart, whoever asks, and each waits its own time', async () => {
    const pages = await claimed('apart.example', 13)
    const turns = await Promise.all(pages.slice(1).map((page) => ask(page, { atOnce: 0, delayMs: 5_000 })))
    const starts = await startsAt('apart.example')
    expect(new Set(starts.slice(1).map((start, index) => Math.round(start - starts[index]!)))).toEqual(new Set([5_000]))
    // One that has its turn within two seconds waits with its worker, the others are told to come back.
    expect(new Set(turns.map(({ granted }) => granted))).toEqual(new Set([true, false]))
    for (const { granted, ms } of turns) expect(granted).toBe(ms <= 2_000)
    await home.query(`update host set next_at = now() + interval '2 s' where host = 'apart.example'`)
    const soon = await ask(pages[0]!, { atOnce: 0, delayMs: 5_000 })
    expect(soon).toEqual({ granted: true, ms: expect.any(Number) })
  })

  it('go to so many pages at once, and each end makes room, however it came', async () => {
    const pages = await claimed('few.example', 20)
    const limits = { atOnce: 4, delayMs: 0 }
    const turns = await Promise.all(pages.map((page) => ask(page, limits)))
    const at = (granted: boolean) => pages.filter((_page, index) => turns[index]!.granted === granted)
    expect(at(true)).toHaveLength(4)
    const [one, two, ...waiting] = at(false)
    expect((await ask(one!, limits)).granted).toBe(false)
    await end(at(true)[0]!)
    // Asked again by another claim: the former one of this page does not count.
    await home.query('update snapshot set claim_token = gen_random_uuid() where id = $1', [at(true)[1]!.snapshotId])
    await home.query(`update host_turn set starts_at = now() where token is null`)
    expect((await ask(one!, limits)).granted).toBe(true)
    expect((await ask(two!, limits)).granted).toBe(true)
    expect((await ask(waiting[0]!, limits)).granted).toBe(false)
    await home.query('delete from snapshot where id = $1', [one!.snapshotId])
    expect((await ask(waiting[1]!, limits)).granted).toBe(true)
  })

  it('are promised a minute ahead; who comes later is told to ask again, one after the other', async () => {
    const pages = await claimed('many.example', 9)
    const turns = []
    for (const page of pages) turns.push(await ask(page, { atOnce: 0, delayMs: 20_000 }))
    expect(turns.map(({ ms }) => Math.round(ms / 20_000) * 20)).toEqual([0, 20, 40, 60, 80, 100, 120, 140, 160])
    expect(await startsAt('many.example')).toHaveLength(4)
    // Those that were promised one never come: a page of another day does not wait for them.
    await home.query(`update host set next_at = now() - interval '1 s' where host = 'many.example'`)
    expect(await ask(pages[8]!, { atOnce: 0, delayMs: 20_000 })).toEqual({ granted: true, ms: 0 })
  })

  it('wait while the host wants to be left alone', async () => {
    const [page, other] = await claimed('busy.example', 2)
    await blockHost(dbs[0]!, 'busy.example', 90_000)
    await blockHost(dbs[0]!, 'busy.example', 5_000) // The longer one counts.
    const { granted, ms } = await ask(page!, { atOnce: 4, delayMs: 250 })
    expect([granted, ms > 60_000 && ms <= 90_000]).toEqual([false, true])
    await home.query(`update host set blocked_until = now() where host = 'busy.example'`)
    expect((await ask(other!, { atOnce: 4, delayMs: 250 })).granted).toBe(true)
  })

  it('do not wait for times of a clock that was set back since', async () => {
    const [page, other] = await claimed('early.example', 2)
    await ask(page!, { atOnce: 4, delayMs: 250 })
    const set = (what: string) => home.query(`update host set ${what} where host = 'early.example'`)
    await set("next_at = now() + interval '8 h', later_at = now() + interval '9 h'")
    expect((await ask(other!, { atOnce: 4, delayMs: 250 })).ms).toBeLessThanOrEqual(3_661_000)
    await set("blocked_until = now() + interval '1 year'")
    expect((await ask(other!, { atOnce: 4, delayMs: 250 })).ms).toBeLessThanOrEqual(86_400_000)
  })

  it('of hosts that nobody wants anything of are forgotten', async () => {
    const [page, another] = await claimed('old.example', 2)
    await ask(page!, { atOnce: 4, delayMs: 250 })
    await home.query(`update host set next_at = now() - interval '2 days' where host = 'old.example'`)
    await ask({ ...another!, host: 'new.example' }, { atOnce: 4, delayMs: 250 })
    expect(await home.value(`select count(*)::int from host where host = 'old.example'`)).toBe(0)
    expect(await startsAt('old.example')).toEqual([])
    await home.query('truncate crawl cascade')
  })
})

describe('a crawl', () => {
  let site: Site
  let atOnce = 0
  let most = 0
  let refusals = 0

  beforeAll(async () => {
    // Each page is held until another one is asked for beside it, and for a moment more, in which a third could come.
    const held: (() => void)[] = []
    const slow = [1, 2, 3, 4, 5, 6].map((number): [string, Route] => [
      `/slow-${number}`,
      async (_request, response) => {
        atOnce += 1
        most = Math.max(most, atOnce)
        const paired = new Promise<void>((resolve) => held.push(resolve))
        if (held.length > 1) for (const release of held.splice(0)) release()
        await paired
        await setTimeout(200)
        atOnce -= 1
        response.writeHead(200, { 'content-type': 'text/html' }).end(`<title>Slow ${number}</title>`)
      },
    ])
    site = await startSite({
      ...Object.fromEntries(slow),
      '/busy': (_request, response) => {
        refusals += 1
        if (refusals > 1) response.writeHead(200, { 'content-type': 'text/html' }).end('<title>At last</title>')
        else response.writeHead(429, { 'retry-after': '1', 'content-type': 'text/html' }).end('<p>Not now')
      },
      '/robots.txt': (_request, response) => {
        response.writeHead(200).end('User-agent: *\nDisallow: /\n\nUser-agent: archivebox-ts\nDisallow: /secret\n')
      },
      '/open': '<title>Open</title>',
      '/other': '<title>Other</title>',
      '/secret': '<title>Secret</title>',
      '/always': (_request, response) => {
        response.writeHead(503, { 'content-type': 'text/html' }).end('<p>Never')
      },
    })
  })
  afterAll(() => site.close())

  it('keeps the limits of a host, in the program', async () => {
    const urls = [1, 2, 3, 4, 5, 6].map((number) => `${site.url}/slow-${number}`)
    const settings = ['-c', 'MANNERS=all', '-c', 'HOST_CONCURRENCY=2', '-c', 'HOST_DELAY=0.02']
    const crawl = await home.add('--plugins', 'html', ...settings, ...urls)
    await runAll(home)
    expect((await pagesOf(home, crawl)).map(({ outcome }) => outcome)).toEqual(urls.map(() => 'archived'))
    expect(most).toBe(2)
    expect(await home.value(`select count(*)::int from host where host = '127.0.0.1'`)).toBe(1)
  })

  it('asks a busy server again when it wants to be asked, and keeps what comes then', async () => {
    const settings = ['-c', 'MANNERS=all', '-c', 'HOOK_RETRY_SECONDS=0.05', '-c', 'HOST_DELAY=0']
    const crawl = await home.add(
      '--plugins',
      'headers,html,title,readability,markdown',
      ...settings,
      `${site.url}/busy`,
    )
    await runAll(home)
    const [page] = await pagesOf(home, crawl)
    expect(page).toMatchObject({ title: 'At last', outcome: 'archived', http_status: 200 })
    const results = await resultsOf(home, crawl)
    const ends = results.map(({ plugin, attempt, status, output_str }) => [plugin, attempt, status, output_str])
    expect(ends.toSorted()).toEqual([
      ['headers', 1, 'failed', 'HTTP 429'],
      ['headers', 2, 'succeeded', 'headers/headers.json'],
      ['html', 1, 'failed', 'HTTP 429'],
      ['html', 2, 'succeeded', 'html/output.html'],
      ['markdown', 1, 'succeeded', 'markdown/content.md'],
      ['readability', 1, 'succeeded', 'readability/content.html'],
      ['title', 1, 'succeeded', 'At last'],
    ])
    const headers = readFileSync(join(home.dataDir, page!.output_dir, 'headers', 'headers.json'), 'utf8')
    expect(JSON.parse(headers)).toMatchObject({ status: 200 })
    const waited = `select extract(epoch from min(start_ts) filter (where attempt = 2) - min(start_ts)) >= 1 from
      archive_result where snapshot_id = $1`
    expect(await home.value(waited, [page!.id])).toBe(true)
    expect(refusals).toBe(2)
  })

  it('obeys robots.txt, and stops at the limits of a host, where that is asked for', async () => {
    const add = (paths: readonly string[], ...settings: string[]) =>
      home.add('--plugins', 'headers,html', ...settings, ...paths.map((path) => site.url + path))
    const robots = await add(['/open', '/secret'], '-c', 'ROBOTS_TXT=true')
    const pages = await add(['/open', '/other'], '-c', 'MAX_PAGES_PER_HOST=1')
    // One well after the other: what is being archived does not count yet.
    const inTurn = ['-c', 'MANNERS=all', '-c', 'HOST_CONCURRENCY=1', '-c', 'HOST_DELAY=1']
    const bytes = await add(['/open', '/other'], '-c', 'MAX_SIZE_PER_HOST=10', ...inTurn)
    await runAll(home)
    const causes = async (crawl: string) =>
      (await pagesOf(home, crawl)).map(({ outcome, cause }) => String(cause ?? outcome)).sort()
    const { host } = new URL(site.url)
    expect(await causes(robots)).toEqual(['archived', 'robots.txt'])
    expect(await causes(pages)).toEqual(['archived', `more than 1 pages of ${host} (MAX_PAGES_PER_HOST)`])
    expect(await causes(bytes)).toEqual(['archived', `more than 10 B of ${host} (MAX_SIZE_PER_HOST)`])
    expect(site.hits('/secret')).toBe(0)
    const refused = (await resultsOf(home, robots)).filter(({ output_str: output }) => output.includes('robots'))
    expect(refused.map(({ plugin, status, output_str: output }) => [plugin, status, output])).toEqual([
      ['headers', 'failed', 'robots.txt forbids it'],
      ['html', 'skipped', 'robots.txt, as headers found'],
    ])
  })

  it('puts a page off whose robots.txt cannot be read, and gives it up after the retries of a hook', async () => {
    let left = 1
    const recovers = await startSite({
      '/robots.txt': (_request, response) => response.writeHead(left-- > 0 ? 503 : 404).end(),
      '/open': '<title>Open</title>',
    })
    const never = await startSite({ '/robots.txt': (_request, response) => response.writeHead(500).end() })
    const settings = ['-c', 'ROBOTS_TXT=true', '-c', 'HOOK_RETRIES=1', '-c', 'HOOK_RETRY_SECONDS=0.05']
    const urls = [recovers.url, never.url].map((url) => `${url}/open`)
    const crawl = await home.add('--plugins', 'headers,html', ...settings, ...urls)
    await runAll(home)
    await Promise.all([recovers.close(), never.close()])
    expect((await pagesOf(home, crawl)).map(({ url, outcome, cause }) => [url, outcome, cause])).toEqual([
      [urls[0], 'archived', null],
      [urls[1], 'failed', 'robots.txt'],
    ])
    const results = await resultsOf(home, crawl)
    const ends = results.map(({ plugin, status, attempt, output_str: output }) => [plugin, status, attempt, output])
    expect(ends).toContainEqual(['headers', 'failed', 1, 'robots.txt: HTTP 503'])
    expect(ends).toContainEqual(['headers', 'succeeded', 2, 'headers/headers.json'])
    expect(ends).toContainEqual(['headers', 'failed', 2, 'robots.txt: HTTP 500'])
    expect([never.hits('/robots.txt'), never.hits('/open')]).toEqual([2, 0])
  })

  it('gives a server up that is always too busy, and keeps what it said', async () => {
    const settings = ['-c', 'HOOK_RETRIES=1', '-c', 'HOOK_RETRY_SECONDS=0.05']
    const crawl = await home.add('--plugins', 'headers,html', ...settings, `${site.url}/always`)
    const hosts = await home.value('select count(*)::int from host')
    await runAll(home)
    expect((await pagesOf(home, crawl))[0]).toMatchObject({ outcome: 'failed', cause: 'HTTP 503', http_status: 503 })
    expect(site.hits('/always')).toBe(2)
    const html = (await resultsOf(home, crawl)).find(({ plugin, attempt }) => plugin === 'html' && attempt === 2)
    expect(html).toMatchObject({ status: 'failed', output_files: { 'error.html': {} } })
    // A private host has no limits, unless they are asked for.
    expect(await home.value('select count(*)::int from host')).toBe(hosts)
  })
})
