// What the pages of a server say, and what they answer to addresses that mean nothing, too much, or something else.
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Parser } from 'htmlparser2'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { uuidv7 } from '../../../src/base/ids.ts'
import { makeCapture } from '../../support/captures.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { type Answer, type Served, serveHome } from '../../support/served.ts'
import { EVIL, makeServedArchive, type ServedArchive } from '../../support/served-archive.ts'

const homes = useHomes()
let home: TestHome
let served: Served
let made: ServedArchive

beforeAll(async () => {
  home = await homes.original()
  made = await makeServedArchive(home)
  served = await serveHome(home)
})
afterAll(async () => {
  served.running.signal('SIGTERM')
  await served.running.finished()
})

const ask = async (path: string): Promise<Answer> => await served.ask(path)

/** The text of a page as it is read, and its elements. */
function read({ text }: Answer) {
  const found = { words: '', links: [] as string[], elements: [] as string[] }
  const parser = new Parser({
    onopentag: (name, attributes) => {
      found.elements.push(name)
      if (attributes['href']) found.links.push(attributes['href'])
    },
    ontext: (part) => {
      found.words += part
    },
  })
  parser.end(text)
  return { ...found, words: found.words.replace(/\s+/g, ' ') }
}

/** The ids of the pages of a list, as they come. */
const listed = (answer: Answer): string[] =>
  [...answer.text.matchAll(/class="title"><a href="\/snapshots\/([0-9a-f-]+)"/g)].map(([, id]) => id!)

describe('the archive', () => {
  it('has the figures of status --json', async () => {
    const { stdout } = await home.run(['status', '--json'])
    const { pages, disk, queue } = JSON.parse(stdout) as {
      pages: Record<string, number>
      disk: { archive_bytes: number }
      queue: Record<'snapshot' | 'crawl', Record<string, number>>
    }
    const { words } = read(await ask('/'))
    const sum = (states: Record<string, number>) => Object.values(states).reduce((all, one) => all + one, 0)
    expect(words).toContain(`${sum(queue.snapshot)} pages · ${sum(queue.crawl)} crawls · ${disk.archive_bytes} B`)
    expect(words).toContain(
      `Archived ${pages['archived']} Partial ${pages['partial']} Failed ${pages['failed']} ` +
        `Waiting ${pages['queued']! + pages['paused']!}`,
    )
  })

  it('lists what snapshot list lists, newest first', async () => {
    const ids = async (...args: string[]) =>
      (await home.run(['snapshot', 'list', '--json', ...args])).stdout
        .trim()
        .split('\n')
        .filter(Boolean)
        .map((line) => (JSON.parse(line) as { id: string }).id)
    expect(listed(await ask('/'))).toEqual(await ids('--status', 'sealed,started'))
    expect(listed(await ask('/?outcome=failed'))).toEqual(await ids('--outcome', 'failed'))
    expect(listed(await ask('/?outcome=open'))).toEqual(await ids('--status', 'queued,paused'))
    expect(listed(await ask(`/?crawl=${made.crawl.slice(-8)}`))).toEqual(
      await ids('--crawl-id', made.crawl, '--status', 'sealed,started'),
    )
    expect(listed(await ask('/?host=http://example.com/&url=page%3D2'))).toEqual([...made.copies].reverse())
    expect(listed(await ask('/?kind=picture'))).toEqual([made.copies[1]])
    expect(listed(await ask('/?q=A+TITLE'))).toEqual([...made.copies].reverse())
    expect(listed(await ask('/?to=2020-01-01'))).toEqual([])
    expect(listed(await ask(`/?from=${new Date().toISOString().slice(0, 10)}&to=2999-01-01`)).length).toBeGreaterThan(3)
  })

  it('says what is wrong with a word, and keeps it', async () => {
    for (const [path, why] of [
      ['/?from=yesterday', 'From takes a date or an age, not "yesterday"'],
      ['/?outcome=lost', 'there is no outcome "lost"'],
      ['/?crawl=zz', 'not an id: zz'],
      ['/?below=x', 'not a cursor of a list: x'],
    ] as const) {
      const answer = await ask(path)
      expect([answer.status, read(answer).words]).toEqual([400, expect.stringContaining(why)])
    }
    expect((await ask('/?from=yesterday')).text).toContain('value="yesterday"')
  })

  it('shows text of strangers as text', async () => {
    for (const path of ['/', '/?view=grid', `/snapshots/${made.evil}`, `/?q=${encodeURIComponent(EVIL)}`]) {
      const { words, elements } = read(await ask(path))
      expect(words).toContain(EVIL.replace(/&amp;/g, '&amp;'))
      expect(elements.filter((name) => name === 'script')).toHaveLength(1)
    }
    expect((await ask('/')).text).toContain('<bdi>&#60;/title&#62;')
  })

  it('says what to do when it is empty', async () => {
    const empty = await homes.make()
    const other = await serveHome(empty)
    const { words } = read(await other.ask('/'))
    other.running.signal('SIGTERM')
    await other.running.finished()
    expect(words).toContain('Nothing is archived yet')
    expect(words).toContain('archivebox-ts add https://example.com/')
  })
})

describe('a long list', () => {
  let crawl: string
  let long: TestHome
  let server: Served
  const PAGES = 130

  beforeAll(async () => {
    long = await homes.original()
    crawl = uuidv7()
    await long.query(
      `insert into crawl (id, urls, output_dir, status, retry_at) values ($1, 'http://a.example/', 'archive/crawls/x',
        'sealed', null)`,
      [crawl],
    )
    const ids = Array.from({ length: PAGES }, () => uuidv7())
    await long.query(
      `insert into snapshot (id, crawl_id, url, url_hash, title, output_dir, status, outcome, retry_at)
       select id::uuid, $1, 'http://a.example/some/longer/path/of/a/page-' || id,
         sha256(convert_to('http://a.example/some/longer/path/of/a/page-' || id, 'UTF8')),
         'A title of the usual length, as pages have them, ' || id, 'archive/snapshots/20260101/a.example/' || id,
         'sealed', 'archived', null from unnest($2::text[]) id`,
      [crawl, ids],
    )
    server = await serveHome(long)
  })
  afterAll(async () => {
    server.running.signal('SIGTERM')
    await server.running.finished()
  })

  it('comes in parts that link to each other, and no part is large', async () => {
    const seen: string[] = []
    const trail: string[] = []
    let path: string | undefined = '/?view=list'
    while (path !== undefined) {
      const answer: Answer = await server.ask(path)
      expect(Buffer.byteLength(answer.text)).toBeLessThan(60_000)
      seen.push(...listed(answer))
      trail.push(path)
      path = link(answer, 'next')
    }
    const rows = await long.query<{ id: string }>('select id from snapshot order by id desc')
    expect(seen).toEqual(rows.map(({ id }) => id))
    const last = trail.at(-1)!
    const back = link(await server.ask(last), 'prev')
    expect(listed(await server.ask(back!))).toEqual(seen.slice(80, 120).slice(-40))
  })

  const link = ({ text }: Answer, rel: string): string | undefined =>
    new RegExp(`rel="${rel}" href="([^"]+)"`).exec(text)?.[1]?.replaceAll('&#38;', '&')
})

describe('an address', () => {
  it('may name a row by the beginning or the end of its id', async () => {
    for (const part of [made.crawl.slice(0, 18), made.crawl.slice(-8), made.crawl.replaceAll('-', '').slice(-10)]) {
      const { status, headers } = await ask(`/crawls/${part}?outcome=failed`)
      if (status === 300) continue // Ids that were made at once begin alike.
      expect([status, headers.location]).toEqual([302, `/crawls/${made.crawl}?outcome=failed`])
    }
    expect((await ask(`/crawls/${made.crawl.toUpperCase()}`)).status).toBe(200)
    const escaped = made.crawl.slice(-11).replace(/./g, (char) => `%${char.charCodeAt(0).toString(16)}`)
    expect((await ask(`/crawls/${escaped}`)).headers.location).toBe(`/crawls/${made.crawl}`)
  })

  it('that fits several rows leads to each', async () => {
    const answer = await ask(`/snapshots/${made.waiting.slice(0, 8)}`)
    expect(answer.status).toBe(300)
    const { links } = read(answer)
    expect(links.filter((href) => href.startsWith('/snapshots/')).length).toBeGreaterThan(1)
  })

  it('of no row says so, in a line', async () => {
    for (const id of ['00000000-0000-7000-8000-000000000000', 'ffffff', 'x', '%3Cscript%3E']) {
      for (const [kind, noun] of [
        ['crawls', 'crawl'],
        ['snapshots', 'page'],
      ]) {
        const answer = await ask(`/${kind}/${id}`)
        expect([answer.status, read(answer).words]).toEqual([
          404,
          expect.stringContaining(`There is no ${noun} ${decodeURIComponent(id)}`),
        ])
      }
    }
  })

  it('of a URL leads to its newest copy, and with a date to the nearest', async () => {
    const [old, latest] = made.copies
    const at = async (path: string) => (await ask(path)).headers.location
    const day = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()
    const digits = (days: number) => day(days).replace(/\D/g, '').slice(0, 14)
    expect(await at(`/web/${made.url}`)).toBe(`/snapshots/${latest}`)
    expect(await at('/web/example.com/list?page=2&q=a%20b')).toBe(`/snapshots/${latest}`)
    expect(await at('/web/example.com/list?page=2')).toBeUndefined()
    expect(await at('/web/http:/example.com/list?page=2&q=a%20b')).toBe(`/snapshots/${latest}`)
    expect(await at(`/web/${digits(590)}/${made.url}`)).toBe(`/snapshots/${old}`)
    expect(await at(`/web/${digits(590).slice(0, 8)}id_/${made.url}`)).toBe(`/snapshots/${old}`)
    expect(await at(`/web/${day(310).slice(0, 10)}/${made.url}`)).toBe(`/snapshots/${latest}`)
    expect(await at(`/web/1999/${made.url}`)).toBe(`/snapshots/${old}`)
    expect(await at(`/web/2999/${made.url}`)).toBe(`/snapshots/${latest}`)
  })

  it('of a URL without a copy leads nowhere, and says how to archive it', async () => {
    for (const path of ['/web/https://nowhere.example/a?b=c&d=%27;x', '/web//evil.example/', '/web/', '/web/2026/']) {
      const answer = await ask(path)
      expect([answer.status, answer.headers.location]).toEqual([404, undefined])
    }
    const { words } = read(await ask('/web/https://nowhere.example/a?b=c&d=%27;$(x)'))
    expect(words).toContain("archivebox-ts add 'https://nowhere.example/a?b=c&d=%27;$(x)'")
  })
})

describe('a crawl', () => {
  it('says how far it is, what failed and why, and how to try that again', async () => {
    const { words, links } = read(await ask(`/crawls/${made.crawl}`))
    expect(words).toContain('Some of each')
    expect(words).toContain('2 of 5 pages done · 1 in work, 1 waiting · 1 paused')
    expect(words).toContain('HTTP 404 example.com')
    expect(words).toContain(`archivebox-ts crawl retry --failed ${made.crawl}`)
    expect(links).toContain(`/crawls/${made.crawl}?outcome=failed&host=example.com`)
    expect(listed(await ask(`/crawls/${made.crawl}?outcome=failed&host=example.com`))).toEqual([made.failed])
    // No word of the address leads out of it.
    expect(listed(await ask(`/crawls/${made.crawl}?q=a+title`))).toEqual([])
  })

  it('and every other page tells its script what to listen to, and what may change', async () => {
    const topicsOf = ({ text }: Answer) => /<body[^>]* data-topics="([^"]*)"/.exec(text)?.[1]
    expect(topicsOf(await ask('/'))).toBe('archive')
    expect(topicsOf(await ask(`/crawls/${made.crawl}`))).toBe(`crawl:${made.crawl} processes`)
    expect(topicsOf(await ask(`/snapshots/${made.started}`))).toBe(`page:${made.started}`)
    for (const path of ['/', `/crawls/${made.crawl}`, `/snapshots/${made.started}`, `/snapshots/${made.copies[1]}`]) {
      const { text } = await ask(path)
      const marked = [...text.matchAll(/<[^>]* data-live[^>]*>/g)].map(([tag]) => /id="([^"]+)"/.exec(tag)?.[1])
      expect(marked.length).toBeGreaterThan(1)
      expect(new Set(marked).size).toBe(marked.length)
      expect(marked).not.toContain(undefined)
    }
  })
})

describe('a page', () => {
  it('shows its best copy in a frame from another origin, which may run nothing', async () => {
    const { text } = await ask(`/snapshots/${made.copies[1]}`)
    const [frame] = /<iframe name="copy"[^>]*>/.exec(text) ?? []
    expect(frame).toMatch(/src="http:\/\/[0-9a-f]{32}-[0-9a-v]{20}\.localhost:\d+\/singlefile\/singlefile\.html"/)
    expect(frame).toContain('sandbox="allow-popups allow-popups-to-escape-sandbox"')
    const other = await ask(`/snapshots/${made.copies[1]}?copy=screenshot`)
    expect(other.text).toMatch(/<img src="[^"]+\/screenshot\/screenshot.png" alt="screenshot of the page">/)
    expect(other.text).toMatch(/href="[^"]*copy=screenshot" aria-current="true"/)
  })

  it('leads to the copies before and after it, and has the hashes of its files', async () => {
    const [old, latest] = made.copies
    const { text } = await ask(`/snapshots/${old}`)
    expect(text).toContain(`href="/snapshots/${latest}" rel="next"`)
    const second = await ask(`/snapshots/${latest}`)
    expect(second.text).toContain(`href="/snapshots/${old}" rel="prev"`)
    expect(read(second).words).toContain(`singlefile/singlefile.html 45 B ${'ab'.repeat(32)}`)
  })

  it('says what becomes of it', async () => {
    const words = async (id: string) => read(await ask(`/snapshots/${id}`)).words
    expect(await words(made.waiting)).toMatch(/It is retried at \d{4}/)
    const claim = (by: string | null) =>
      home.query('update snapshot set claimed_by = $1, claim_token = $1 where id = $2', [by, made.waiting])
    await claim(uuidv7())
    expect(await words(made.waiting)).toContain('It is being archived')
    await claim(null)
    expect(await words(made.started)).toContain('It was begun, but nobody works on it at this moment')
    expect(await words(made.paused)).toContain(`archivebox-ts snapshot resume ${made.paused}`)
  })

  it('says that its files are gone, or on which node they are', async () => {
    const { id, dir } = await makeCapture(home, { 'singlefile/singlefile.html': 'x', 'title/title.txt': 'y' })
    rmSync(join(dir, 'title', 'title.txt'))
    expect(read(await ask(`/snapshots/${id}`)).words).toContain('A copy of it is gone: title/title.txt')
    renameSync(dir, `${dir}.away`)
    expect(read(await ask(`/snapshots/${id}`)).words).toContain('Its files are not here')
    renameSync(`${dir}.away`, dir) // An older folder, or another's: it is not shown.
    const node = uuidv7()
    await home.query(`insert into node (id, data_dir, name) values ($1, '/far', 'far-away')`, [node])
    await home.query('update snapshot set home_node = $1 where id = $2', [node, id])
    const { words, elements } = read(await ask(`/snapshots/${id}`))
    expect(words).toContain('Its files are on node far-away: /far')
    expect(read(await ask('/')).words).toContain('on node far-away')
    expect(elements).not.toContain('iframe')
    await home.query('update snapshot set output_size = 5000 where id = $1', [id])
    expect(read(await ask(`/snapshots/${id}`)).words).toContain('Size5.0 kB')
    await home.query(`update node set state = 'lost' where id = $1`, [node])
    expect(read(await ask(`/snapshots/${id}`)).words).toContain('That node is lost.')
  })

  it('of very many hooks is bounded', async () => {
    const { id } = await makeCapture(home, { 'title/title.txt': 'x' })
    await home.query(
      `insert into archive_result (id, snapshot_id, plugin, hook_name, attempt, status, start_ts, end_ts)
       select gen_random_uuid(), $1, 'wget', 'on_Snapshot__60_wget.js', n, 'failed', now(), now()
       from generate_series(1, 20000) n`,
      [id],
    )
    const answer = await ask(`/snapshots/${id}`)
    expect(answer.text.length).toBeLessThan(500_000)
    expect(read(answer).words).toContain('And 19,001 more attempts of hooks')
  })
})

describe('a log', () => {
  const path = (hook: string, of = 'errors') =>
    `/snapshots/${made.evil}/log?${new URLSearchParams({ hook, of }).toString()}`
  const HOOK = 'wget.on_Snapshot__60_wget.js.2'

  it('is text, without what moves a cursor or turns a line', async () => {
    const answer = await ask(path(HOOK))
    const { words, elements } = read(answer)
    expect(answer.status).toBe(200)
    expect(words).toContain('red </title><script>alert(1)</script>')
    const [, log = ''] = /<pre[^>]*>([^<]*)<\/pre>/.exec(answer.text) ?? []
    expect(log).toContain('red ')
    for (const text of ['\u001b', '\u202e', '[31m']) expect(log).not.toContain(text)
    expect(elements.filter((name) => name === 'script')).toHaveLength(1)
    expect(read(await ask(`/snapshots/${made.evil}`)).links).toContain(path(HOOK))
  })

  it('is only what the page names', async () => {
    for (const [hook, of] of [
      ['wget.on_Snapshot__60_wget.js.1', 'errors'],
      ['wget.on_Snapshot__60_wget.js.2', 'output'],
      ['wget.on_Snapshot__60_wget.js.2', '__proto__'],
      ['../../../../archivebox', 'errors'],
      ['', ''],
    ] as const)
      expect((await ask(path(hook, of))).status).toBe(404)
  })

  it('is never what a link leads to, and of a long one the end', async () => {
    const [dir] = await home.query<{ output_dir: string }>('select output_dir from snapshot where id = $1', [made.evil])
    const logs = join(home.dataDir, dir!.output_dir, '.logs')
    const [name] = readdirSync(logs)
    const file = join(logs, name!)
    const before = readFileSync(file)
    const secret = join(home.dataDir, 'secret.txt')
    writeFileSync(secret, 'a secret')
    rmSync(file)
    symlinkSync(secret, file)
    expect((await ask(path(HOOK))).status).toBe(404)
    rmSync(file)
    writeFileSync(file, before)
    renameSync(logs, `${logs}.away`)
    mkdirSync(join(home.dataDir, 'elsewhere'))
    writeFileSync(join(home.dataDir, 'elsewhere', name!), 'a secret')
    symlinkSync(join(home.dataDir, 'elsewhere'), logs)
    expect((await ask(path(HOOK))).status).toBe(404)
    rmSync(logs)
    renameSync(`${logs}.away`, logs)
    writeFileSync(file, `begin\n${'x'.repeat(3_000_000)}\nend\n`)
    const { text } = await ask(path(HOOK))
    expect(text.length).toBeLessThan(1_100_000)
    expect(text).toContain('\nend\n')
    expect(text).not.toContain('begin\n')
    writeFileSync(file, before)
  })
})
