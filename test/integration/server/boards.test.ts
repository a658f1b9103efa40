import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseHTML } from 'linkedom'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { eventually } from '../../support/program.ts'
import { type Served, serveHome } from '../../support/served.ts'
import { type Site, startSite } from '../../support/site.ts'

// Every figure on a page is one that the command line says.
const homes = useHomes()
let site: Site
let original: TestHome
beforeAll(async () => {
  site = await startSite(4)
  original = await homes.original()
  await original.run(['add', '--run', '--plugins', 'headers', `${site.url}/page-1.html`, `${site.url}/page-2.html`])
  await original.run(['add', '--run', '--plugins', 'headers', 'http://127.0.0.1:9/<b>refused'])
  await original.run(['add', '--label', 'waits <script>', `${site.url}/page-3.html`])
  await original.run(['schedule', 'add', '--every', 'day', '--label', 'each <day>', `${site.url}/page-1.html`])
})
afterAll(() => site.close())

async function withServer(work: (home: TestHome, server: Served) => Promise<void>): Promise<void> {
  const home = await homes.clone(original)
  const server = await serveHome(home)
  await work(home, server)
  server.running.signal('SIGTERM')
  await server.running.finished()
  await homes.discard(home)
}

const page = async (server: Served, path: string) => {
  const { status, text } = await server.ask(path)
  expect(status).toBe(200)
  return parseHTML(text).document
}

it('live: every figure is that of `status --json`, and it says why nothing moves', async () => {
  await withServer(async (home, server) => {
    const document = await page(server, '/live')
    const facts: unknown = JSON.parse((await home.run(['status', '--json'])).stdout)
    const of = (path: string) =>
      path.split('.').reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], facts)
    const figures = [...document.querySelectorAll('[data-fact]')]
    expect(figures.length).toBeGreaterThan(10)
    for (const figure of figures) {
      const name = figure.getAttribute('data-fact')!
      expect([name, figure.getAttribute('data-value')]).toEqual([name, String(of(name))])
    }
    expect(document.querySelector('#verdict')!.textContent).toContain('Nothing moves: no runner')
    expect(document.querySelector('#verdict')!.classList.contains('failed')).toBe(true)
    expect(document.querySelector('#failures')!.textContent).toContain('connection refused')
    expect(document.querySelector('#failures code')!.textContent).toMatch(
      /^archivebox-ts snapshot retry --failed [0-9a-f]{8}$/,
    )
    expect(document.querySelector('#crawls')!.textContent).toContain('waits <script>')
    expect(document.querySelector('#tree')!.textContent).toContain(`pid ${server.running.pid}`)
    expect(document.querySelectorAll('#leads tbody tr').length).toBe(2)
    expect(document.querySelector('#pace')!.textContent).toContain('3 pages in the last')
    // Whoever led noted that nothing waited when it began.
    expect(document.querySelector('#queue')!.textContent).toContain('No page waited in the last 24 h')
    await home.query(
      "insert into queue_sample (at, open) values (now() - interval '3 h', 700), (now() - interval '25 h', 9)",
    )
    const later = (await page(server, '/live')).querySelector('#queue')!
    expect(later.textContent).toContain('At most 700 pages waited')
    expect([...later.querySelectorAll('rect')].at(-1)!.getAttribute('height')).toBeDefined()
  })
})

it('schedules, plugins, settings: the records of the command line', async () => {
  await withServer(async (home, server) => {
    const [schedule] = (await home.run(['schedule', 'list', '--json'])).stdout.trim().split('\n')
    const { every, label } = JSON.parse(schedule!) as { every: string; label: string }
    const schedules = await page(server, '/schedules')
    expect(schedules.querySelector('#schedules')!.textContent).toContain(label)
    expect(schedules.querySelector('#schedules')!.textContent).toContain(every)
    expect(schedules.querySelector('day')).toBeNull()

    const plugins = (await home.run(['plugin', 'list', '--json'])).stdout.trim().split('\n')
    const known = plugins.map((line) => JSON.parse(line) as { name: string; enabled: boolean; lacks: string[] })
    const rows = [...(await page(server, '/plugins')).querySelectorAll('tbody tr')].map((row) => ({
      name: row.querySelector('th')!.textContent,
      enabled: row.querySelector('td')!.textContent === 'yes',
      lacks: Number(row.querySelector('td:last-child .badge')?.textContent ?? 0),
    }))
    const wanted = known.map(({ name, enabled, lacks }) => ({ name, enabled, lacks: lacks.length }))
    const byName = (a: { name: string | null }, b: { name: string | null }) =>
      (a.name ?? '') < (b.name ?? '') ? -1 : 1
    expect(rows.sort(byName)).toEqual(wanted.sort(byName))

    const settings = (await home.run(['config', 'list', '--json'])).stdout.trim().split('\n')
    const keys = settings.map((line) => (JSON.parse(line) as { key: string }).key)
    const shown = await page(server, '/settings?all')
    expect([...shown.querySelectorAll('tbody th')].map(({ textContent }) => textContent)).toEqual(keys)
    const { password } = new URL(home.databaseUrl)
    if (password !== '') expect(shown.body.textContent).not.toContain(password)
    expect(
      [...shown.querySelectorAll('tbody tr')].find((row) => row.textContent?.includes('DATABASE_URL'))!.textContent,
    ).toContain('***')
  })
})

it('health: what doctor says, with what mends it, the broken first', async () => {
  await withServer(async (home, server) => {
    const checks = (await home.run(['doctor', '--json'])).stdout.trim().split('\n')
    const names = checks.map((line) => (JSON.parse(line) as { name: string }).name)
    const document = await page(server, '/health')
    const shown = [...document.querySelectorAll('tbody th')].map(({ textContent }) => textContent)
    expect([...shown].sort()).toEqual([...names].sort())
    const order = [...document.querySelectorAll('tbody .badge')].map(({ textContent }) => textContent)
    const urgency = ['broken', 'careful', 'fine']
    expect(order).toEqual([...order].sort((a, b) => urgency.indexOf(a!) - urgency.indexOf(b!)))
  })
})

it('an archive in which nothing is has pages, too, which say what to do', async () => {
  const home = await homes.make()
  const server = await serveHome(home)
  expect((await page(server, '/schedules')).body.textContent).toContain('archivebox-ts schedule add')
  const live = await page(server, '/live')
  expect(live.querySelector('#verdict')!.textContent).toContain('archivebox-ts run starts one')
  expect(live.querySelector('#pace')!.textContent).toContain('None within a day')
  server.running.signal('SIGTERM')
  await server.running.finished()
})

it('live: a leader that was killed does not lead, and its end is unseen', async () => {
  const home = await homes.make()
  const server = await serveHome(home)
  const untils = async () =>
    [...(await page(server, '/live')).querySelectorAll('#leads [data-head="Until"]')].map(({ textContent }) =>
      textContent.replace(/^[\d-]+ [\d:]+ UTC/, 'then'),
    )
  const killed = home.start(['run'])
  await eventually(async () => (await untils())[0] === 'leads')
  killed.signal('SIGKILL')
  await killed.finished()
  expect(await untils()).toEqual(['gone'])
  const next = home.start(['run'])
  await eventually(async () => (await untils())[0] === 'leads')
  expect(await untils()).toEqual(['leads', 'then, its end unseen'])
  for (const each of [next, server.running]) {
    each.signal('SIGTERM')
    await each.finished()
  }
})

it('settings: those that a command would have now, and what is wrong with them', async () => {
  await withServer(async (home, server) => {
    expect((await page(server, '/settings')).body.textContent).not.toContain('TIMEOUT')
    await home.run(['config', 'set', 'TIMEOUT=77'])
    const row = [...(await page(server, '/settings')).querySelectorAll('tbody tr')].find((each) =>
      each.textContent.startsWith('TIMEOUT'),
    )
    expect(row?.textContent).toContain('77')
    appendFileSync(join(home.dataDir, 'archivebox.toml'), '\nTIMEOUT = [1\n')
    const broken = await page(server, '/settings')
    expect(broken.querySelector('.cause.failed')!.textContent).toContain('archivebox.toml')
  })
})

it('schedules: in parts, each as quick as the first', async () => {
  const home = await homes.make()
  await home.query(`
    insert into schedule (id, every, cron, timezone, urls, crawl, next_at, retry_at)
    select gen_random_uuid(), 'day', '0 0 * * *', 'UTC', 'https://example.com/' || n, '{}', now() + n * interval '1 h',
      now() + n * interval '1 h' from generate_series(1, 250) n`)
  const server = await serveHome(home)
  const seen: string[] = []
  for (let path: string | null = '/schedules'; path; ) {
    const document = (await page(server, path)) as Awaited<ReturnType<typeof page>>
    seen.push(...[...document.querySelectorAll('#schedules tbody th')].map(({ textContent }) => textContent))
    path = document.querySelector('[rel="next"]')?.getAttribute('href') ?? null
  }
  expect(seen).toEqual(Array.from({ length: 250 }, (_none, at) => `https://example.com/${at + 1}`))
  const gone = await server.ask('/schedules?below=00000000-0000-7000-8000-000000000000')
  expect([gone.status, gone.headers.location]).toEqual([302, '/schedules'])
  server.running.signal('SIGTERM')
  await server.running.finished()
})
