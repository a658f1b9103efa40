import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { expect, it } from 'vitest'
import { Browser, noBrowser } from '../../support/browser.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { eventually } from '../../support/program.ts'
import { type Served, serveHome } from '../../support/served.ts'
import { startSite } from '../../support/site.ts'

// What changes is told to whoever looks; and nobody looks when nobody does.
const homes = useHomes()

/** A stream, and what came by it. */
class Listener {
  readonly status: number
  readonly #answer: IncomingMessage
  text = ''
  isOver = false

  private constructor(answer: IncomingMessage) {
    this.#answer = answer
    this.status = answer.statusCode ?? 0
    answer.setEncoding('utf8').on('data', (part: string) => (this.text += part))
    answer.on('error', () => {}).on('close', () => (this.isOver = true))
  }

  static async open(
    { port, host, cookie }: Served,
    query: string,
    headers: Record<string, string> = {},
  ): Promise<Listener> {
    const asked = request({
      ...{ host: '127.0.0.1', port, path: `/events?${query}`, agent: false },
      headers: { Host: host, Cookie: cookie, ...headers },
    })
    asked.on('error', () => {}).end()
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    return new Listener(answer)
  }

  /** What came: the kind of each event, with its data. */
  get events(): string[] {
    return [...this.text.matchAll(/event: (\w+)\ndata: (.*)\n/g)].map(([, kind, data]) => `${kind} ${data}`)
  }

  get lastId(): string {
    return [...this.text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? ''
  }

  pause(): void {
    this.#answer.pause()
  }

  close(): void {
    this.#answer.destroy()
  }
}

/** A page of a crawl, and its end: as SQL, since what is tested is who hears of it. */
async function page(home: TestHome): Promise<{ id: string; crawl: string }> {
  const { stdout } = await home.run(['snapshot', 'create', `http://127.0.0.1:9/${Math.random()}`])
  const { id, crawl_id: crawl } = JSON.parse(stdout) as { id: string; crawl_id: string }
  return { id, crawl }
}
const seal = async (home: TestHome, id: string) =>
  await home.query(
    `update snapshot set status = 'sealed', outcome = 'failed', cause = 'x', retry_at = null, status_changed_at = now()
     where id = $1`,
    [id],
  )

async function ends({ running }: Served): Promise<void> {
  running.signal('SIGTERM')
  expect((await running.finished()).code).toBe(0)
}

it('tells whoever listens to it of a page that ended, of its crawl and of the archive, once', async () => {
  const home = await homes.make()
  const server = await serveHome(home)
  const [one, other] = [await page(home), await page(home)]
  const listeners = {
    archive: await Listener.open(server, 'topics=archive'),
    crawl: await Listener.open(server, `topics=crawl:${one.crawl}+page:${one.id}`),
    other: await Listener.open(server, `topics=page:${other.id}`),
  }
  const all = Object.values(listeners)
  // Nobody knows what was before: all are told to look.
  await eventually(() => all.every(({ events }) => events.length === 1))
  await seal(home, one.id)
  await eventually(() => listeners.crawl.events.length > 1)
  expect(listeners.archive.events).toEqual(['change archive', 'change archive'])
  expect(listeners.crawl.events[1]).toBe(`change crawl:${one.crawl} page:${one.id}`)
  await seal(home, other.id)
  await eventually(() => listeners.other.events.length > 1)
  expect(listeners.crawl.events.length).toBe(2)
  await ends(server)
  await eventually(() => all.every(({ isOver }) => isOver))
  expect(listeners.archive.text.endsWith('retry: 200\n\n')).toBe(true)
})

it('misses no change of a transaction that commits after a newer one', async () => {
  const home = await homes.make()
  const server = await serveHome(home)
  const [late, early] = [await page(home), await page(home)]
  const listener = await Listener.open(server, `topics=page:${late.id}+page:${early.id}`)
  await eventually(() => listener.events.length === 1)
  // The older transaction takes its time, while the newer one commits.
  const slow = home.query(
    `with change as (update snapshot set status = 'sealed', outcome = 'failed', cause = 'x', retry_at = null
       where id = $1 returning id)
     select pg_sleep(1.5) from change`,
    [late.id],
  )
  await new Promise((resolve) => setTimeout(resolve, 300))
  await seal(home, early.id)
  await eventually(() => listener.events.some((event) => event.includes(early.id)))
  await slow
  await eventually(() => listener.events.some((event) => event.includes(late.id) && !event.includes(early.id)))
  listener.close()
  await ends(server)
})

it('says to who comes back only what it missed, and to load again when it is another database', async () => {
  const home = await homes.make()
  const server = await serveHome(home)
  const one = await page(home)
  const first = await Listener.open(server, 'topics=archive')
  await eventually(() => first.lastId !== '')
  const id = first.lastId
  expect(id).toMatch(/^[\w-]+\.\d+$/)
  // The hub goes on while somebody else listens.
  const other = await Listener.open(server, 'topics=processes', { 'Last-Event-ID': id })
  first.close()
  const back = await Listener.open(server, 'topics=archive', { 'Last-Event-ID': id })
  await seal(home, one.id)
  await eventually(() => back.events.length === 1)
  const missed = await Listener.open(server, 'topics=archive', { 'Last-Event-ID': id })
  await eventually(() => missed.events.length === 1)
  const now = await Listener.open(server, 'topics=archive', { 'Last-Event-ID': back.lastId })
  const foreign = await Listener.open(server, 'topics=archive', { 'Last-Event-ID': id.replace(/^[\w-]+/, 'another') })
  await eventually(() => foreign.events.length === 1)
  expect(foreign.events[0]).toMatch(/^reload /)
  expect(now.events).toEqual([])
  for (const each of [other, back, missed, now, foreign]) each.close()
  await ends(server)
})

it('refuses topics that are none, and whoever has no session', async () => {
  const home = await homes.make()
  const server = await serveHome(home)
  for (const topics of [
    '',
    'x',
    'crawl:1',
    'archive+page:x',
    'page:01994f6e-0c1a-7c3e-9d55-0123456789ab:x%0Aevent:reload',
    'page:01994f6e-0c1a-7c3e-9d55-0123456789ab%0Ax',
    Array(101)
      .fill('archive')
      .map((t, n) => `${t}${n}`)
      .join('+'),
  ]) {
    const { status, text } = await server.ask(`/events?topics=${topics}`)
    expect([status, text], topics).toEqual([400, expect.stringContaining('"error":"topics must be archive')])
  }
  expect((await server.ask('/events?topics=archive', { headers: { Cookie: '' } })).status).toBe(401)
  expect((await server.ask('/events?topics=archive', { method: 'POST' })).status).toBe(405)
  await ends(server)
})

it('ends streams with their session', async () => {
  const home = await homes.make()
  const server = await serveHome(home)
  const listener = await Listener.open(server, 'topics=archive')
  await server.ask('/logout', { method: 'POST', headers: { Origin: server.origin } })
  await eventually(() => listener.isOver)
  await ends(server)
})

it('asks the database nothing while nobody listens', async () => {
  const home = await homes.make()
  const server = await serveHome(home)
  const statements = async () => {
    await home.query('select pg_stat_clear_snapshot()')
    return await home.value<number>(
      `select count(*)::int from pg_stat_activity where application_name = 'archivebox-ts server'
       and query like '%pg_current_snapshot%' and query_start > now() - interval '1 s'`,
    )
  }
  const listener = await Listener.open(server, 'topics=archive')
  await eventually(async () => (await statements()) > 0)
  listener.close()
  await eventually(async () => (await statements()) === 0)
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  expect(await statements()).toBe(0)
  await ends(server)
})

it('takes two thousand streams, and no more', async () => {
  const home = await homes.make()
  const server = await serveHome(home)
  const streams: Listener[] = []
  for (let count = 0; count < 2_000; count += 1) streams.push(await Listener.open(server, 'topics=archive'))
  expect(streams.every(({ status }) => status === 200)).toBe(true)
  const more = await server.ask('/events?topics=archive')
  expect([more.status, more.headers['retry-after']]).toEqual([503, '10'])
  expect((await server.ask('/')).status).toBe(200)
  streams.pop()!.close()
  await eventually(async () => {
    const again = await Listener.open(server, 'topics=archive')
    streams.push(again)
    return again.status === 200
  })
  for (const each of streams) each.close()
  await ends(server)
})

it.skipIf(noBrowser)(
  `a page in a browser shows what happens, and goes on after the server was killed (${noBrowser || 'chromium'})`,
  async () => {
    const home = await homes.make()
    const site = await startSite(4)
    const { port } = new URL(site.url)
    const at = `127.0.0.1:${20_000 + (Number(port) % 10_000)}`
    let server = await serveHome(home, '--listen', at, '--no-runner')
    const browser = await Browser.start()
    const shows = async (path: string) => {
      await browser.until(`document.querySelector('#pages')?.textContent.includes('${path}')`)
    }
    try {
      await browser.visit(await server.link())
      await browser.until("document.querySelector('nav.sections')")
      await home.run(['add', '--run', '--plugins', 'headers', `${site.url}/page-1.html`])
      await shows('page-1.html')
      // With the first page more came than parts of it: what one searches with.
      await browser.until("document.querySelector('form.controls') && document.querySelector('#crawls')")
      await browser.evaluate(`window.stays = true`)
      server.running.signal('SIGKILL')
      await server.running.finished()
      await home.run(['add', '--run', '--plugins', 'headers', `${site.url}/page-2.html`])
      await browser.until("!document.querySelector('#note').hidden")
      expect(await browser.evaluate("document.querySelector('#note').textContent")).toContain('does not answer')
      server = await serveHome(home, '--listen', at, '--no-runner')
      await shows('page-2.html')
      await browser.until("document.querySelector('#note').hidden")
      expect(await browser.evaluate('window.stays')).toBe(true)
      // A hidden page hears nothing, and looks when it is seen again.
      await browser.evaluate(`
      Object.defineProperty(document, 'hidden', { value: true, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))`)
      await home.run(['add', '--run', '--plugins', 'headers', `${site.url}/page-3.html`])
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      expect(await browser.evaluate("document.querySelector('#pages').textContent.includes('page-3.html')")).toBe(false)
      await browser.evaluate(`
      Object.defineProperty(document, 'hidden', { value: false, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))`)
      await shows('page-3.html')
    } finally {
      await browser.close()
      await site.close()
    }
    await ends(server)
  },
)
