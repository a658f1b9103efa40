// Copies come from a listener of their own: only files that a row names, to whoever knows the address, and as what they
// are taken for no harm comes of.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { href } from '../../../src/pages/links.ts'
import { CopyAddresses } from '../../../src/server/content/addresses.ts'
import { answerContent } from '../../../src/server/content/listener.ts'
import { type Copies, copiesOf, type MadeCapture, makeCapture } from '../../support/captures.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { opened } from '../../support/opened.ts'
import { eventually } from '../../support/program.ts'
import { type Answer, type AskOptions, askAt, type Served, serveHome } from '../../support/served.ts'

const homes = useHomes()
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
const BIG = 24 * 1024 * 1024

let home: TestHome
let served: Served
let copies: Copies
let capture: MadeCapture

/** Asks for a path of a capture. */
async function ask(path: string, options: AskOptions = {}, id = capture.id): Promise<Answer> {
  return await askAt(copies.port, new URL(copies.base(id)).host, path, options)
}

/** What is answered to bytes that no client would send. */
async function raw(text: string): Promise<string> {
  const socket = connect(copies.port, '127.0.0.1')
  socket.write(text)
  let answer = ''
  for await (const part of socket) answer += String(part)
  return answer.replace(/^Date: .*\r\n/m, '')
}

const FILES = {
  'singlefile/singlefile.html': '<!doctype html><meta charset="utf-8"><p id="a">Überall</p>',
  'wget/host/a/index.html': '<p>folder</p>',
  'wget/host/page@x=1&y=ü.html': '<p>asked</p>',
  'wget/host/style.css@v=3.css': 'p { color: red }',
  'wget/host/plain.html': '<p>plain</p>',
  'wget/host/100%25.html': '<p>percent</p>',
  'html/old.html': Buffer.from([0x3c, 0x70, 0x3e, 0xfc, 0x3c, 0x2f, 0x70, 0x3e]),
  'html/koi.html': Buffer.concat([Buffer.from('<meta charset=koi8-r><p>'), Buffer.from([0xf7])]),
  'html/frames.html': [
    `<p>${'x'.repeat(70_000)}`,
    `<iframe srcdoc="<p>in&amp;side<link rel=icon><img src='image.png'>"></iframe>`,
  ].join(''),
  'html/long.html': Buffer.concat([
    Buffer.from(`<meta charset=koi8-r><p>${' '.repeat(70_000)}`),
    Buffer.from([0xf7, 0xf7]),
  ]),
  'html/longer.html': `<p>${'€'.repeat(60_000)}`,
  'html/utf16.html': Buffer.from('\ufeff<p>zwei</p><link rel=preconnect href=x>', 'utf16le'),
  'screenshot/screenshot.png': PIXEL,
  'screenshot/thumbnail.webp': PIXEL,
  'pdf/output.pdf': '%PDF-1.4',
  'title/title.txt': 'Überschrift',
  'title/empty.txt': '',
  'html/drawing.svg': '<svg xmlns="http://www.w3.org/2000/svg"><script>x</script></svg>',
  'html/feed.xml': '<?xml-stylesheet href="x.xsl"?><x/>',
  'html/script.js': 'alert(1)',
  'html/strange.exe': 'MZ',
  'html/page.mhtml': 'x',
  'warc/page.warc.gz': 'x',
  'html/image.png': '<script>alert(1)</script>',
  'html/said.png': '<p>said to be a page</p>',
  'html/big.bin': Buffer.alloc(BIG, 1),
}

describe('where all copies share a host', () => {
  it('a capture is the beginning of a path, and is shown nothing but what is below it', async () => {
    const home = await homes.make()
    const capture = await makeCapture(home, FILES)
    await opened(home, async ({ home }) => {
      const session = { id: 'a' }
      const server = createServer()
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { port } = server.address() as AddressInfo
      const place = { protocol: 'http:', host: `copies.example:${port}`, isWildcard: false } as const
      const copies = new CopyAddresses(place, Buffer.alloc(32), { live: async () => [session.id] })
      server.on('request', answerContent({ home, copies, app: 'http://app.example', published: () => undefined }))
      const { pathname } = new URL(copies.base(capture.id, session))
      const of = async (path: string, host: string = place.host) => await askAt(port, host, path)
      const page = await of(`${pathname}/singlefile/singlefile.html`)
      expect([page.status, page.text]).toEqual([200, FILES['singlefile/singlefile.html']])
      expect(page.headers['content-security-policy']).toMatch(
        /^sandbox .*; img-src http:\/\/copies.example:\d+\/\w+-\w+\/ /,
      )
      // A viewer would show it as a page of the host that all share.
      const { headers } = await of(`${pathname}/pdf/output.pdf`)
      expect(headers['content-disposition']).toBe(`attachment; filename="output.pdf"; filename*=UTF-8''output.pdf`)
      expect(headers['content-security-policy']).toMatch(/^sandbox /)
      const none = await of('/')
      const others = ['/title/title.txt', `${pathname.slice(0, -1)}/title/title.txt`, `/x${pathname}/title/title.txt`]
      for (const path of others) expect((await of(path)).text).toBe(none.text)
      expect((await of(`${pathname}/title/title.txt`, `x.${place.host}`)).text).toBe(none.text)
      expect([none.status, (await of(`${pathname}/title/title.txt`)).text]).toEqual([404, 'Überschrift'])
      server.closeAllConnections()
      server.close()
    })
  })
})

describe('the content listener', () => {
  beforeAll(async () => {
    home = await homes.original()
    capture = await makeCapture(home, FILES, {
      'html/said.png': { mimetype: 'text/html' },
      'html/latest': { link: 'old.html' },
      'html/out': { link: '../title/title.txt' },
      'html/far': { link: '/etc/passwd' },
      'html/circle': { link: 'circle' },
      'html/gone.html': {},
      '.logs/x.txt': {},
      'html/sub/../../x': {},
    })
    symlinkSync('old.html', join(capture.dir, 'html/latest'))
    writeFileSync(join(capture.dir, 'html/unnamed.html'), 'nobody names this')
    served = await serveHome(home)
    copies = await copiesOf(home, served)
    return async () => {
      served.running.signal('SIGTERM')
      await served.running.finished()
    }
  })

  it('tells whoever knows no address nothing at all, and always the same', async () => {
    const own = new URL(copies.base(capture.id)).host
    const [label = ''] = own.split('.')
    const unknown = new URL(copies.base('019aaaaa-0000-7000-8000-000000000000')).host
    const last = label.at(-1) === 'a' ? 'b' : 'a'
    const get = (host: string, path = '/title/title.txt', method = 'GET') =>
      raw(`${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
    const first = await get(`localhost:${copies.port}`)
    expect(first).toMatch(/^HTTP\/1.1 404 Not Found\r\n/)
    expect(first.toLowerCase()).not.toMatch(/access-control|set-cookie|etag/)
    const others = [
      ...[unknown, `${label.slice(0, -1)}${last}.localhost:${copies.port}`, `${label}.localhost`, `x.${own}`],
      ...[
        `${label}.example.com:${copies.port}`,
        `${own}.`,
        `127.0.0.1:${copies.port}`,
        `.localhost:${copies.port}`,
        '',
      ],
    ]
    for (const host of others) expect(await get(host), host).toBe(first)
    for (const method of ['POST', 'PUT', 'OPTIONS', 'PROPFIND']) expect(await get(unknown, '/', method)).toBe(first)
    const whole = `http://${own}/title/title.txt`
    expect(await get(own, whole)).toBe(first)
    const twice = `GET /title/title.txt HTTP/1.1\r\nHost: ${own}\r\nHost: ${own}\r\nConnection: close\r\n\r\n`
    expect(await raw(twice)).toBe(first)
    const both = `GET /title/title.txt HTTP/1.1\r\nHost: ${unknown}\r\nhOST: ${own}\r\nConnection: close\r\n\r\n`
    expect(await raw(both)).toBe(first)
    // And with it, there is something.
    expect(await get(own)).toMatch(/^HTTP\/1.1 200 OK\r\n/)
  })

  it('answers with files that a row names, and with no other', async () => {
    const found = {
      '/title/title.txt': 'Überschrift',
      '/wget/host/a/': '<p>folder</p>',
      '/wget/host/a': '<p>folder</p>',
      '/wget/host/a/index.html?x': '<p>folder</p>',
      '/wget/host/page?x=1&y=%C3%BC': '<p>asked</p>',
      '/wget/host/page@x=1&y=%C3%BC.html': '<p>asked</p>',
      '/wget/host/style.css?v=3': 'p { color: red }',
      '/wget/host/plain': '<p>plain</p>',
      '/wget/host/100%2525.html': '<p>percent</p>',
      '/html/latest': '<p>ü</p>',
    }
    for (const [path, text] of Object.entries(found)) expect([path, (await ask(path)).text]).toEqual([path, text])
    const none = [
      ...['/', '//title/title.txt', '/title', '/title//title.txt', '/title/./title.txt', '/x/../title/title.txt'],
      ...[
        '/title/%2e%2e/title/title.txt',
        '/title/..%2ftitle%2ftitle.txt',
        '/title%2Ftitle.txt',
        '/title/title.txt%00',
      ],
      ...['/title%5ctitle.txt', '/title\\title.txt', '/%ff', '/%', '/.logs/x.txt', '/html/unnamed.html', '/index.html'],
      ...['/html/out', '/html/far', '/html/circle', '/html/latest/x', '/../../../../archivebox.toml', '/html/x', '/x'],
      ...['/title/title.txt/', '/%74itle%2e%2e/title.txt', '/__proto__', '/html/constructor'],
    ]
    for (const path of none) expect([path, (await ask(path)).status]).toEqual([path, 404])
  })

  it('reads, and nothing else', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const { status, headers } = await ask('/title/title.txt', { method })
      expect([status, headers.allow]).toEqual([405, 'GET, HEAD'])
    }
    const head = await ask('/title/title.txt', { method: 'HEAD' })
    expect([head.status, head.text, head.headers['content-length']]).toEqual([200, '', '12'])
  })

  it('says what a file is, by a list, and that nobody guesses', async () => {
    const types = {
      'singlefile/singlefile.html': 'text/html; charset=utf-8',
      'html/said.png': 'text/html; charset=utf-8',
      'html/image.png': 'image/png',
      'screenshot/thumbnail.webp': 'image/webp',
      'wget/host/style.css@v=3.css': 'text/css',
      'title/title.txt': 'text/plain; charset=utf-8',
      'html/feed.xml': 'text/plain; charset=utf-8',
      'html/script.js': 'text/plain; charset=utf-8',
      'html/drawing.svg': 'image/svg+xml',
      'pdf/output.pdf': 'application/pdf',
    }
    for (const [path, type] of Object.entries(types)) {
      const { headers } = await ask(`/${path}`)
      expect([path, headers['content-type'], headers['content-disposition']]).toEqual([path, type, undefined])
    }
    for (const path of ['html/strange.exe', 'html/page.mhtml', 'warc/page.warc.gz', 'singlefile/singlefile.html?raw']) {
      const { headers } = await ask(`/${path}`)
      expect([path, headers['content-type']]).toEqual([path, 'application/octet-stream'])
      expect(headers['content-disposition']).toMatch(/^attachment; /)
    }
    const text = await ask('/title/title.txt', { headers: { Cookie: served.cookie } })
    expect(text.headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'cross-origin',
      'access-control-allow-origin': '*',
      'cache-control': expect.stringMatching(/^private, max-age=\d+$/),
    })
    expect(text.headers['set-cookie']).toBeUndefined()
    for (const path of Object.keys(FILES)) {
      const policy = String((await ask(`/${href(path)}`, { method: 'HEAD' })).headers['content-security-policy'])
      expect([path, /^sandbox (?!.*allow-(?:scripts|same-origin))/.test(policy)]).toEqual([
        path,
        !path.endsWith('.pdf'),
      ])
      expect(policy).toContain("default-src 'none'")
      expect(policy).toContain("script-src 'none'")
      expect(policy).toContain(`frame-ancestors ${served.origin}; `)
    }
  })

  it('shows HTML in its own encoding, without what no policy rules, and keeps the file as it was', async () => {
    expect((await ask('/html/old.html')).text).toBe('<p>ü</p>')
    expect((await ask('/html/koi.html')).text).toBe('<meta charset=koi8-r><p>В')
    expect((await ask('/html/utf16.html')).text).toBe('<p>zwei</p><link rxl=preconnect href=x>')
    const long = await ask('/html/long.html')
    expect([long.text.length, long.text.slice(-5)]).toEqual([70_026, 'ВВ'.padStart(5, ' ')])
    expect((await ask('/html/longer.html')).text.replaceAll('€', '')).toBe('<p>')
    const koi = await ask('/html/koi.html?raw')
    expect(koi.headers['content-length']).toBe(String(FILES['html/koi.html'].length))
  })

  it('sends the document that a frame has as an attribute for itself, tamed as its page is', async () => {
    const page = await ask('/html/frames.html')
    const [, address = ''] = /<iframe src=(\S+) +sxcdoc=/.exec(page.text) ?? []
    expect(address).toBe('?in-a-frame=70003')
    const framed = await ask(`/html/frames.html${address}`)
    expect([framed.status, framed.text]).toEqual([200, "<!doctype html><p>in&side<link rxl=icon><img src='image.png'>"])
    expect(framed.headers['content-type']).toBe('text/html; charset=utf-8')
    const policy = String(framed.headers['content-security-policy'])
    expect(policy).toMatch(/^sandbox (?!.*allow-(?:scripts|same-origin))/)
    expect(policy).not.toContain('frame-ancestors')
    for (const none of ['70002', '1', '70003.0', '999999999'])
      expect((await ask(`/html/frames.html?in-a-frame=${none}`)).status).toBe(404)
    const from = await ask('/wget/host/page?x=1&y=%C3%BC&in-a-frame')
    expect(from.text).toBe('<p>asked</p>')
    expect((await ask(`/html/${'a/'.repeat(200)}b`)).status).toBe(404)
  })

  it('shows a drawing as a picture, and as a page with that picture', async () => {
    const asDocument = await ask('/html/drawing.svg', { headers: { Accept: 'text/html,*/*' } })
    expect(asDocument.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(asDocument.text).toContain('<img src="./drawing.svg"')
    const framed = await ask('/html/drawing.svg', { headers: { 'Sec-Fetch-Dest': 'iframe' } })
    expect(framed.text).not.toContain('<svg')
    const asPicture = await ask('/html/drawing.svg', { headers: { Accept: 'text/html', 'Sec-Fetch-Dest': 'image' } })
    expect(asPicture.headers['content-type']).toBe('image/svg+xml')
    expect(asPicture.headers.vary).toBe('Accept, Sec-Fetch-Dest')
  })

  it('sends parts as they are asked for, and the whole where that is no part', async () => {
    const part = async (range: string, path = '/title/title.txt', more = {}) => {
      const { status, headers, text } = await ask(path, { headers: { Range: range, ...more } })
      return [status, headers['content-range'], text]
    }
    const whole = [200, undefined, 'Überschrift']
    expect(await part('bytes=0-1')).toEqual([206, 'bytes 0-1/12', 'Ü'])
    expect(await part('bytes=2-')).toEqual([206, 'bytes 2-11/12', 'berschrift'])
    expect(await part('bytes=-4')).toEqual([206, 'bytes 8-11/12', 'rift'])
    expect(await part('bytes=-400')).toEqual([206, 'bytes 0-11/12', 'Überschrift'])
    expect(await part('bytes=11-99999999999999999999')).toEqual([206, 'bytes 11-11/12', 't'])
    for (const range of [
      'bytes=9-1',
      'bytes=0-1,3-4',
      'bytes=',
      'bytes=-',
      'lines=0-1',
      'bytes=a-b',
      'bytes=0x1-2',
      'x',
    ])
      expect([range, await part(range)]).toEqual([range, whole])
    for (const range of ['bytes=12-', 'bytes=99-100', 'bytes=-0'])
      expect([range, await part(range)]).toEqual([range, [416, 'bytes */12', '']])
    expect(await part('bytes=0-', '/title/empty.txt')).toEqual([416, 'bytes */0', ''])
    expect(await part('bytes=-1', '/title/empty.txt')).toEqual([200, undefined, ''])
    const { headers } = await ask('/title/title.txt')
    const [tag, modified] = [String(headers.etag), String(headers['last-modified'])]
    expect(await part('bytes=0-1', undefined, { 'If-Range': tag })).toEqual([206, 'bytes 0-1/12', 'Ü'])
    expect(await part('bytes=0-1', undefined, { 'If-Range': modified })).toEqual([206, 'bytes 0-1/12', 'Ü'])
    expect(await part('bytes=0-1', undefined, { 'If-Range': `W/${tag}` })).toEqual(whole)
    expect(await part('bytes=0-1', undefined, { 'If-Range': '"other"' })).toEqual(whole)
    const known = async (more: Record<string, string>) => (await ask('/title/title.txt', { headers: more })).status
    expect(await known({ 'If-None-Match': `"x", W/${tag}` })).toBe(304)
    expect(await known({ 'If-None-Match': '*' })).toBe(304)
    expect(await known({ 'If-None-Match': '"x"', 'If-Modified-Since': modified })).toBe(200)
    expect(await known({ 'If-Modified-Since': modified })).toBe(304)
    expect(await known({ 'If-Modified-Since': 'never' })).toBe(200)
    const page = await ask('/singlefile/singlefile.html', { headers: { Range: 'bytes=0-1' } })
    expect([page.status, page.headers['accept-ranges']]).toEqual([200, 'none'])
    expect((await ask('/singlefile/singlefile.html?raw')).headers.etag).not.toBe(page.headers.etag)
  })

  it('lets go of a file whose reader went away', async () => {
    const pid = await home.value<number>("select pid from process where process_type = 'server' and ended_at is null")
    const isOpen = () =>
      readdirSync(`/proc/${pid}/fd`).some((fd) => {
        try {
          return readlinkSync(`/proc/${pid}/fd/${fd}`).endsWith('big.bin')
        } catch {
          return false
        }
      })
    const socket = connect(copies.port, '127.0.0.1')
    socket.write(`GET /html/big.bin HTTP/1.1\r\nHost: ${new URL(copies.base(capture.id)).host}\r\n\r\n`)
    await new Promise((resolve) => socket.once('data', resolve))
    socket.pause()
    expect(isOpen()).toBe(true)
    socket.destroy()
    await eventually(() => !isOpen())
    expect((await ask('/html/big.bin', { method: 'HEAD' })).headers['content-length']).toBe(String(BIG))
  })

  it('opens no link, pipe or folder that took the place of a file, and says what is not here', async () => {
    const other = await makeCapture(home, {
      'html/a.html': 'a',
      'html/b.html': 'b',
      'deep/er/c.txt': 'c',
      'x/d.txt': 'd',
    })
    const of = async (path: string) => await ask(path, {}, other.id)
    expect((await of('/html/a.html')).text).toBe('a')
    rmSync(join(other.dir, 'html/a.html'))
    symlinkSync('/etc/passwd', join(other.dir, 'html/a.html'))
    rmSync(join(other.dir, 'html/b.html'))
    execFileSync('mkfifo', [join(other.dir, 'html/b.html')])
    renameSync(join(other.dir, 'deep'), join(home.dataDir, 'elsewhere'))
    symlinkSync(join(home.dataDir, 'elsewhere'), join(other.dir, 'deep'))
    expect(readFileSync(join(other.dir, 'deep/er/c.txt'), 'utf8')).toBe('c')
    rmSync(join(other.dir, 'x/d.txt'))
    for (const path of ['/html/a.html', '/html/b.html', '/deep/er/c.txt', '/x/d.txt']) {
      const { status, text, headers } = await of(path)
      expect([path, status, text]).toEqual([path, 404, 'This file no longer exists.\n'])
      expect(headers['content-type']).toBe('text/plain; charset=utf-8')
    }
    rmSync(other.dir, { recursive: true })
    expect((await of('/html/a.html')).text).toBe('Its files are not on this machine.\n')
  })

  it('finds the folder of all files where its owner moved it', async () => {
    const moved = join(home.dataDir, 'moved')
    renameSync(join(home.dataDir, 'archive'), moved)
    symlinkSync(moved, join(home.dataDir, 'archive'))
    expect((await ask('/html/big.bin', { method: 'HEAD' })).status).toBe(200)
    rmSync(join(home.dataDir, 'archive'))
    renameSync(moved, join(home.dataDir, 'archive'))
  })

  it('goes to no folder that a row of a stranger names', async () => {
    await home.query('alter table snapshot drop constraint snapshot_output_dir_check')
    for (const folder of ['..', '/etc', 'archive/../personas', '.logs', 'personas/x', 'archive//x']) {
      const evil = await makeCapture(home, {}, { 'passwd/x': {} }, folder)
      expect([folder, (await ask('/passwd/x', {}, evil.id)).text]).toEqual([folder, 'There is nothing here.'])
    }
  })

  it('knows nobody any more when the session has ended', async () => {
    const [{ hash } = {}] = await home.query<{ hash: Buffer }>('select hash from web_session')
    expect((await ask('/title/title.txt')).status).toBe(200)
    const { status } = await served.ask('/logout', { method: 'POST', headers: { Origin: served.origin } })
    expect([status, hash?.length]).toEqual([303, 32])
    const { status: after, headers } = await ask('/title/title.txt')
    expect([after, headers['access-control-allow-origin']]).toEqual([404, undefined])
  })
})
