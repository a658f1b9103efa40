import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { askAt, type Served, serveHome } from '../../support/served.ts'
import { type Site, startSite } from '../../support/site.ts'

// The API gives the records of the command line, by its filters, and no more than is asked for.
const homes = useHomes()
const TOKEN = 'a token of the tests, 24'.replaceAll(' ', '-')
let site: Site
let original: TestHome
beforeAll(async () => {
  site = await startSite(6)
  original = await homes.original()
  const pages = [1, 2, 3, 4, 5].map((n) => `${site.url}/page-${n}.html`)
  await original.run(['add', '--run', '--plugins', 'headers,title', '--tag', 'news', ...pages])
  await original.run(['add', '--run', '--plugins', 'headers', 'http://127.0.0.1:9/refused'])
  await original.run(['schedule', 'add', '--every', 'day', `${site.url}/page-1.html`])
})
afterAll(() => site.close())

async function served(): Promise<{ home: TestHome; server: Served; end(): Promise<void> }> {
  const home = await homes.clone(original)
  const server = await serveHome(home)
  const end = async () => {
    server.running.signal('SIGTERM')
    await server.running.finished()
    await homes.discard(home)
  }
  return { home, server, end }
}

const json = (text: string) => JSON.parse(text) as Record<string, unknown>
const lines = (text: string) => text.trim().split('\n').filter(Boolean).map(json)

describe('a list', () => {
  it.each([
    ['crawls', ['crawl', 'list'], ''],
    ['crawls', ['crawl', 'list', '--outcome', 'failed'], '?outcome=failed'],
    ['snapshots', ['snapshot', 'list'], ''],
    ['snapshots', ['snapshot', 'list', '--tag', 'news'], '?tag=news'],
    ['snapshots', ['snapshot', 'list', '--outcome', 'archived,failed'], '?outcome=archived&outcome=failed'],
    ['snapshots', ['snapshot', 'list', '--url__icontains', 'page-3'], '?url__icontains=page-3'],
    ['snapshots', ['snapshot', 'list', '--host', '127.0.0.1:9'], '?host=127.0.0.1:9'],
    ['snapshots', ['snapshot', 'list', '--before', '1d'], '?before=1d'],
    ['results', ['result', 'list', '--plugin', 'title'], '?plugin=title'],
    ['results', ['result', 'list', '--status', 'failed'], '?status=failed'],
    ['processes', ['process', 'list', '--all', '--type', 'orchestrator'], '?all&type=orchestrator'],
    ['schedules', ['schedule', 'list'], ''],
    ['machines', ['machine', 'list'], ''],
    ['tags', ['tag', 'list'], ''],
  ])('%s has the records of %j', async (name, args, query) => {
    const { home, server, end } = await served()
    const { status, text } = await server.ask(`/api/v1/${name}${query}`)
    const said = await home.run([...args, '--json'])
    expect(status).toBe(200)
    const { items, next } = json(text)
    expect(next).toBeNull()
    expect(items).toEqual(lines(said.stdout))
    await end()
  })

  it('comes in parts that make up the whole, each with a way on', async () => {
    const { server, end } = await served()
    for (const [name, query] of [
      ['snapshots', ''],
      ['snapshots', '&tag=news'],
      ['results', ''],
      ['results', '&outcome=archived'],
      ['crawls', ''],
      ['processes', '&all'],
    ]) {
      const whole = json((await server.ask(`/api/v1/${name}?n=1000${query}`)).text)['items'] as { id: string }[]
      const parts: { id: string }[] = []
      for (let path: string | null = `/api/v1/${name}?n=2${query}`; path !== null; ) {
        const part = json((await server.ask(path)).text)
        parts.push(...(part['items'] as { id: string }[]))
        path = part['next'] as string | null
      }
      expect(
        parts.map(({ id }) => id),
        `${name}${query}`,
      ).toEqual(whole.map(({ id }) => id))
      expect(whole.length, `${name}${query}`).toBeGreaterThan(1)
    }
    await end()
  })

  it.each<[path: string, why: string | undefined]>([
    ['/api/v1/snapshots?colour=red', 'there is no filter \\"colour\\"'],
    ['/api/v1/snapshots?outcome=fine', 'there is no outcome \\"fine\\"'],
    ['/api/v1/snapshots?n=0', 'n=0: it takes a whole number'],
    ['/api/v1/snapshots?n=9999', 'n=9999: it takes a whole number'],
    ['/api/v1/snapshots?n=x', 'n=x: it takes a whole number'],
    ['/api/v1/snapshots?below=x', 'not a cursor of a list: x'],
    ['/api/v1/processes?below=x', 'not a cursor of a list: x'],
    ['/api/v1/snapshots?text=a%00b', 'an address must not contain %00'],
    ['/api/v1/crawls/%00', 'an address must not contain %00'],
    ['/?q=%00', 'an address must not contain %00'],
    ['/api/v1/schedules?below=00000000-0000-7000-8000-000000000000', 'no longer in this list: 00000000-'],
    ['/api/v1/machines?below=00000000-0000-7000-8000-000000000000', 'no longer in this list: 00000000-'],
    ['/api/v1/tags?below=none', 'no longer in this list: none; start the list again'],
    ['/api/v1/schedules?below=x', 'not a cursor of a list: x'],
    ['/api/v1/processes?type=none', 'there is no type \\"none\\": known are orchestrator'],
    ["/api/v1/processes?status=running'--", 'there is no status'],
    ['/api/v1/processes?worker_type=none', 'there is no worker_type'],
    ['/api/v1/snapshots?crawl_id=x', 'not an id: x'],
    ['/api/v1/snapshots?after=soon', 'after'],
    ['/api/v1/status?n=1', undefined],
  ])('refuses %s in a line', async (path, why) => {
    const { server, end } = await served()
    const { status, text } = await server.ask(path)
    expect([status, text]).toEqual(why === undefined ? [200, expect.anything()] : [400, expect.stringContaining(why)])
    expect(text.trim().split('\n').length).toBe(1)
    await end()
  })
})

describe('one record', () => {
  it('is found by its id, or by a part of it that no other has', async () => {
    const { home, server, end } = await served()
    const id = await home.value<string>('select id from snapshot order by id desc limit 1')
    const whole = json((await server.ask(`/api/v1/snapshots/${id}`)).text)
    expect(whole).toEqual(lines((await home.run(['snapshot', 'list', '-n', '1', '--json'])).stdout)[0])
    expect(json((await server.ask(`/api/v1/snapshots/${id.slice(-8)}`)).text)).toEqual(whole)
    const several = await server.ask(`/api/v1/snapshots/${id.slice(0, 6)}`)
    expect([several.status, several.text]).toEqual([409, expect.stringContaining('matches several')])
    for (const [list, noun] of [
      ['machines', 'machine'],
      ['processes', 'process'],
      ['tags', 'tag'],
      ['crawls', 'crawl'],
    ])
      expect((await server.ask(`/api/v1/${list}/ffffffff-0000-7000-8000-000000000000`)).text).toBe(
        `{"error":"there is no ${noun} ffffffff-0000-7000-8000-000000000000"}`,
      )
    for (const none of ['00000000-0000-7000-8000-000000000000', 'ffffffff', `${id.slice(0, -1)}`.replace(/.$/, 'g')])
      expect([404, 400], none).toContain((await server.ask(`/api/v1/snapshots/${none}`)).status)
    for (const table of ['crawls', 'results', 'processes', 'schedules', 'machines']) {
      const [first] = json((await server.ask(`/api/v1/${table}?n=1${table === 'processes' ? '&all' : ''}`)).text)[
        'items'
      ] as { id: string }[]
      expect(json((await server.ask(`/api/v1/${table}/${first!.id}`)).text), table).toEqual(first)
    }
    await end()
  })
})

it('says what is the same, by its tag', async () => {
  const { home, server, end } = await served()
  const { headers } = await server.ask('/api/v1/snapshots')
  const same = await server.ask('/api/v1/snapshots', { headers: { 'If-None-Match': String(headers.etag) } })
  expect([same.status, same.text]).toEqual([304, ''])
  await home.query(`update snapshot set title = 'another'`)
  expect((await server.ask('/api/v1/snapshots', { headers: { 'If-None-Match': String(headers.etag) } })).status).toBe(
    200,
  )
  const head = await server.ask('/api/v1/snapshots', { method: 'HEAD' })
  expect([head.status, head.text]).toEqual([200, ''])
  await end()
})

it('reads, and nothing else', async () => {
  const { server, end } = await served()
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const { status, headers } = await server.ask('/api/v1/snapshots', { method, headers: { Origin: server.origin } })
    expect([method, status, headers.allow]).toEqual([method, 405, 'GET, HEAD'])
  }
  expect((await server.ask('/api/v1/none')).status).toBe(404)
  expect(json((await server.ask('/api/v1')).text)['lists']).toContain('/api/v1/snapshots')
  await end()
})

it('status is what `status --json` says', async () => {
  const { home, server, end } = await served()
  const said = json((await home.run(['status', '--json'])).stdout)
  const { text } = await server.ask('/api/v1/status')
  const moving = (facts: Record<string, unknown>) => ({ ...facts, disk: null, database: null, handled: null })
  expect(moving(json(text))).toEqual(moving(said))
  await end()
})

it('lets a program in by its token, to the API and the metrics alone', async () => {
  const home = await homes.clone(original)
  const refused = await home.run(['server', '--listen', '127.0.0.1:0'], { env: { SERVER_TOKEN: 'too short' } })
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringContaining('SERVER_TOKEN: it takes 16 characters or more'),
  ])
  expect(refused.stderr).not.toContain('too short')
  const server = await serveHome(home, { env: { SERVER_TOKEN: TOKEN } }, '--no-runner')
  const ask = async (path: string, token: string) =>
    (await askAt(server.port, server.host, path, { headers: { Authorization: `Bearer ${token}` } })).status
  for (const path of ['/api/v1/snapshots', '/metrics']) {
    expect(await ask(path, TOKEN), path).toBe(200)
    for (const wrong of ['', `${TOKEN}x`, TOKEN.slice(1), server.cookie]) expect(await ask(path, wrong), path).toBe(401)
  }
  for (const path of ['/', '/settings', '/events?topics=archive', '/api/../settings'])
    expect(await ask(path, TOKEN), path).toBe(401)
  expect((await server.ask('/settings?all')).text).not.toContain(TOKEN)
  server.running.signal('SIGTERM')
  await server.running.finished()
  await homes.discard(home)
})

const namesIn = (text: string) => [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!)

it('tells Prometheus the figures of `status`', async () => {
  const { home, server, end } = await served()
  const { status, headers, text } = await server.ask('/metrics')
  expect([status, headers['content-type']]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
  const facts = json((await home.run(['status', '--json'])).stdout) as {
    queue: Record<string, Record<string, number>>
    pages: Record<string, number>
  }
  const value = (metric: string) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${metric} `))
        ?.split(' ')[1],
    )
  for (const [model, states] of Object.entries(facts.queue))
    for (const [state, rows] of Object.entries(states))
      expect(value(`archivebox_rows{model="${model}",state="${state}"}`), `${model} ${state}`).toBe(rows)
  for (const outcome of ['archived', 'partial', 'failed'])
    expect(value(`archivebox_pages{outcome="${outcome}"}`)).toBe(facts.pages[outcome])
  expect(value('archivebox_up')).toBe(1)
  expect(value('archivebox_runner_leads')).toBe(0)
  expect(value('process_resident_memory_bytes')).toBeGreaterThan(10_000_000)
  // The other way out has the same, but for the process.
  const byCommand = await home.run(['status', '--prometheus'])
  expect(byCommand.code).toBe(3)
  expect(namesIn(byCommand.stdout)).toEqual(namesIn(text).filter((name) => !name.startsWith('process_')))
  await end()
})
