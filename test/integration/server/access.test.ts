import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { Browser, noBrowser } from '../../support/browser.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { type Answer, askAt, type Served, serveHome } from '../../support/served.ts'
import { type Site, startSite } from '../../support/site.ts'

// Nobody else: whoever has no session, no name of ours, or comes from another page.
const homes = useHomes()

async function served(...args: readonly string[]): Promise<{ home: TestHome; server: Served }> {
  const home = await homes.make()
  const server = await serveHome(home, ...args)
  return { home, server }
}

async function ends({ running }: Served): Promise<void> {
  running.signal('SIGTERM')
  expect((await running.finished()).code).toBe(0)
}

/** Sends a request as it is written, and reads what comes. */
async function raw(port: number, lines: readonly string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.end(`${lines.join('\r\n')}\r\n\r\n`)
  return await text(socket)
}

const login = async ({ port, host, origin }: Served, code: string, headers: Record<string, string> = {}) =>
  await askAt(port, host, '/login', {
    method: 'POST',
    headers: { Origin: origin, 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
    body: `code=${encodeURIComponent(code)}`,
  })
const codeOf = (link: string) => new URL(link).hash.slice(1)
const cookieOf = ({ headers }: Answer) => headers['set-cookie']?.[0] ?? ''

describe('a session', () => {
  it('begins with a code, once, and is kept as a hash', async () => {
    const { home, server } = await served()
    const code = codeOf(await server.link())
    const first = await login(server, ` ${code.slice(0, 9).toUpperCase()}-${code.slice(9)} `)
    expect(first.status).toBe(303)
    const cookie = cookieOf(first)
    expect(cookie).toMatch(/^abx_[0-9a-f]{8}=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+$/)
    expect((await login(server, code)).status).toBe(401)
    const token = cookie.split(/[=;]/)[1]!
    const kept = await home.query<{ hash: Buffer }>('select hash from web_session')
    expect(kept.length).toBe(2)
    expect(kept.some(({ hash }) => hash.toString('utf8').includes(token))).toBe(false)
    expect(await home.value('select count(*)::int from login_code')).toBe(0)
    await ends(server)
  })

  it('does not begin with a code that is old, of another data dir, or none', async () => {
    const { home, server } = await served()
    const code = codeOf(await server.link())
    await home.query("update login_code set expires_at = now() - interval '1 s'")
    expect((await login(server, code)).status).toBe(401)
    const other = codeOf(await server.link())
    await home.query('update login_code set data_dir_id = gen_random_uuid()')
    expect((await login(server, other)).status).toBe(401)
    for (const none of ['', 'x', '0'.repeat(25), "' or 1=1 --"]) expect((await login(server, none)).status).toBe(401)
    expect((await login(server, 'x'.repeat(20_000))).status).toBe(413)
    const headers = { Origin: server.origin, 'Content-Type': 'multipart/form-data' }
    const broken = await askAt(server.port, server.host, '/login', { method: 'POST', headers, body: 'x' })
    expect([400, 401]).toContain(broken.status)
    await ends(server)
  })

  it('outlives the server, and ends for good when somebody logs out', async () => {
    const { home, server } = await served()
    expect((await server.ask('/')).status).toBe(200)
    await ends(server)
    const next = await serveHome(home)
    expect((await next.ask('/', { headers: { Cookie: server.cookie } })).status).toBe(200)
    const headers = { Cookie: server.cookie, Origin: next.origin }
    const out = await next.ask('/logout', { method: 'POST', headers })
    expect([out.status, cookieOf(out)]).toEqual([303, expect.stringContaining('Max-Age=0')])
    expect((await next.ask('/', { headers: { Cookie: server.cookie } })).status).toBe(401)
    expect((await next.ask('/')).status).toBe(200)
    await ends(next)
  })

  it('is found behind a cookie of the same name that somebody else has set, and not without its own', async () => {
    const { server } = await served()
    const [name] = server.cookie.split('=')
    const both = await server.ask('/', { headers: { Cookie: `${name}=evil; other=1; ${server.cookie}` } })
    expect(both.status).toBe(200)
    // However many there are, few are asked for.
    const many = Array.from({ length: 100 }, () => `${name}=${'x'.repeat(43)}`).join('; ')
    expect((await server.ask('/', { headers: { Cookie: `${many}; ${server.cookie}` } })).status).toBe(401)
    for (const cookie of ['', `${name}=`, `${name}=evil`, `x${server.cookie}`])
      expect((await server.ask('/', { headers: { Cookie: cookie } })).status, cookie).toBe(401)
    await ends(server)
  })
})

describe('whoever has no session', () => {
  it('is asked for a code, and told of the archive nothing', async () => {
    const { home, server } = await served()
    await home.query("insert into tag (name) values ('the secret tag')")
    for (const path of ['/', '/crawls/1', '/snapshots/1', '/live', '/settings', '/web/https://example.com/', '/none']) {
      const { status, text: page, headers } = await askAt(server.port, server.host, path)
      expect([path, status]).toEqual([path, 401])
      expect(page).toContain('<form method="post" action="/login">')
      expect(headers['set-cookie']).toBeUndefined()
    }
    for (const path of ['/api/v1/tags', '/events', '/metrics']) {
      const { status, headers } = await askAt(server.port, server.host, path)
      expect([path, status, headers['content-type']]).toEqual([path, 401, 'application/json'])
    }
    expect((await askAt(server.port, server.host, '/healthz')).status).toBe(200)
    expect((await askAt(server.port, server.host, '/readyz')).status).toBe(503)
    await ends(server)
  })
})

describe('by another name', () => {
  it('is led on from those of loopback, and gets no cookie there', async () => {
    const { server } = await served()
    for (const name of ['127.0.0.1', 'localhost', '[::1]']) {
      const { status, headers } = await askAt(server.port, `${name}:${server.port}`, '/live?a=%2F')
      expect([status, headers.location, headers['set-cookie']]).toEqual([307, `${server.origin}/live?a=%2F`, undefined])
      const posted = await askAt(server.port, `${name}:${server.port}`, '/login', { method: 'POST' })
      expect(posted.status).toBe(421)
    }
    // Never to another host.
    const { headers } = await askAt(server.port, `127.0.0.1:${server.port}`, '//evil.test/')
    expect(headers.location).toBe(`${server.origin}/evil.test/`)
    await ends(server)
  })

  it('is told nothing at all by any other name', async () => {
    const { server } = await served()
    const names = ['evil.test', `evil.test:${server.port}`, 'localhost', `${server.host}.`, `x.${server.host}`]
    for (const name of names) expect((await askAt(server.port, name, '/healthz')).status, name).toBe(421)
    const of = (...lines: string[]) => raw(server.port, [...lines, 'Connection: close'])
    const twice = await of('GET /healthz HTTP/1.1', `Host: ${server.host}`, 'Host: evil.test')
    const absolute = await of(`GET http://${server.host}/healthz HTTP/1.1`, `Host: ${server.host}`)
    const none = await of('GET /healthz HTTP/1.0')
    for (const answer of [twice, absolute, none]) expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    await ends(server)
  })
})

describe('another page', () => {
  it('changes nothing, wherever it is', async () => {
    const { server } = await served()
    const code = codeOf(await server.link())
    const sent: Record<string, string>[] = [
      { 'Sec-Fetch-Site': 'cross-site' },
      { 'Sec-Fetch-Site': 'same-site' },
      { 'Sec-Fetch-Site': 'none' },
      { Origin: 'null' },
      { Origin: `http://127.0.0.1:${server.port}` },
      { Origin: '' },
    ]
    for (const headers of sent) {
      expect((await login(server, code, headers)).status, JSON.stringify(headers)).toBe(403)
      const out = await server.ask('/logout', { method: 'POST', headers: { Origin: server.origin, ...headers } })
      expect(out.status, JSON.stringify(headers)).toBe(403)
    }
    expect((await login(server, code)).status).toBe(303)
    expect((await server.ask('/')).status).toBe(200)
    await ends(server)
  })

  it.skipIf(noBrowser)(`is not let in by a browser that has the session (${noBrowser || 'chromium'})`, async () => {
    const { server } = await served()
    const site: Site = await startSite(1)
    const browser = await Browser.start('--host-resolver-rules=MAP evil.test 127.0.0.1')
    try {
      // By the link, as a person.
      await browser.visit(await server.link())
      await browser.until("document.querySelector('nav.sections')")
      expect(await browser.evaluate('[location.hash, location.pathname, document.cookie]')).toEqual(['', '/', ''])
      // A name that leads here, as by rebinding: it says nothing, so that a script of it has nothing to read.
      await browser.send('Page.navigate', { url: `http://evil.test:${server.port}/healthz` })
      await browser.until("document.body?.innerText.includes('not the name of an archive')")
      expect(await browser.evaluate(`fetch('/api/v1/tags').then((answer) => answer.status)`)).toBe(421)
      // A page of another origin: it can neither read, nor frame, nor change.
      await browser.visit(site.url)
      const tried = `Promise.all([
        fetch('${server.origin}/', { credentials: 'include' }).then(() => 'read', () => 'refused'),
        fetch('${server.origin}/logout', { method: 'POST', credentials: 'include', mode: 'no-cors' })
          .then(() => 'sent', () => 'refused'),
        new Promise((done) => {
          const frame = document.createElement('iframe')
          frame.src = '${server.origin}/'
          frame.onload = () => { try { done(frame.contentDocument ? 'empty' : 'closed') } catch { done('closed') } }
          document.body.append(frame)
        }),
        new Promise((done) => {
          const image = new Image()
          image.onload = () => done('seen')
          image.onerror = () => done('refused')
          image.src = '${server.origin}/assets/x'
        }),
      ])`
      expect(await browser.evaluate(tried)).toEqual(['refused', expect.anything(), 'closed', 'refused'])
      await browser.visit(server.origin)
      await browser.until("document.querySelector('nav.sections')")
    } finally {
      await browser.close()
      await site.close()
    }
    await ends(server)
  })
})

it('says on every answer what a browser may do with it', async () => {
  const { server } = await served()
  for (const path of ['/', '/none', '/healthz', '/login', '/api/v1/none']) {
    const { headers } = await server.ask(path)
    expect(headers['content-security-policy'], path).toMatch(/default-src 'none'.*frame-ancestors 'none'/)
    expect(headers['content-security-policy'], path).not.toMatch(/unsafe|\*(?!\.)/)
    expect(headers['access-control-allow-origin'], path).toBeUndefined()
    expect(headers, path).toMatchObject({
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    })
  }
  await ends(server)
})
