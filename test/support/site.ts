import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, gzipSync } from 'node:zlib'

export type Route = string | ((request: IncomingMessage, response: ServerResponse) => void)
export type Routes = Readonly<Record<string, Route>>

export interface Site {
  /** `http://127.0.0.1:PORT`, without a slash at the end. */
  readonly url: string
  /** How many times a path (without its query) was requested. */
  hits(path: string): number
  close(): Promise<void>
}

/**
 * Starts a site on a free loopback port: `pages(n)` for a number, else the given routes (a string is an HTML page), and
 * always the trouble routes below. It must be closed, or the test process does not exit.
 */
export async function startSite(content: number | Routes): Promise<Site> {
  const routes: Routes = { ...TROUBLE, ...(typeof content === 'number' ? pages(content) : content) }
  const hits = new Map<string, number>()
  const server = createServer((request, response) => {
    const [path = '/'] = (request.url ?? '/').split('?')
    hits.set(path, (hits.get(path) ?? 0) + 1)
    const route = routes[path] ?? numbered(path)
    if (route === undefined) html(404, '<title>404</title>Not here')(request, response)
    else if (typeof route === 'string') html(200, route)(request, response)
    else route(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hits: (path) => hits.get(path) ?? 0,
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** The first `count` pages of a site of numbered pages. */
export function pageUrls(site: Site, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${site.url}/page-${i + 1}.html`)
}

/**
 * An index at `/` that links to `n` real pages (`/page-1.html` ...) of about 7 kB: a title, paragraphs, a picture, and
 * links to both neighbours.
 */
export function pages(n: number): Routes {
  const numbers = Array.from({ length: n }, (_, i) => i + 1)
  const links = numbers.map((i) => `<li><a href="/page-${i}.html">Page ${i}</a></li>`).join('\n')
  const routes: Record<string, Route> = {
    '/': page('Index', `<p>There are ${n} pages.</p><ul>${links}</ul>`),
    '/picture.png': bytes('image/png', asset('dusk.png')),
    '/favicon.ico': bytes('image/x-icon', asset('favicon.ico')),
  }
  for (const i of numbers) routes[`/page-${i}.html`] = page(`Page ${i}`, article(i, n))
  return routes
}

/** Answers with a body of any type. */
export function bytes(type: string, body: string | Uint8Array, headers: Readonly<Record<string, string>> = {}): Route {
  return (_request, response) => {
    response
      .writeHead(200, {
        ...(type === '' ? {} : { 'content-type': type }),
        'content-length': Buffer.byteLength(body),
        ...headers,
      })
      .end(body)
  }
}

/** A file of the demo site: a real PNG, ICO, PDF. */
export function asset(name: string): Buffer {
  return readFileSync(new URL(`../../src/demo/site/${name}`, import.meta.url))
}

/** Encodes Russian letters and ASCII in windows-1251. */
export function windows1251(text: string): Buffer {
  return Buffer.from(
    [...text].map((c) => (c >= 'А' && c <= 'я' ? c.codePointAt(0)! - 0x410 + 0xc0 : c.codePointAt(0)!)),
  )
}

export const RUSSIAN = 'Маяк на мысе горит всю ночь'

const TROUBLE: Routes = {
  '/redirect-loop': redirect('/redirect-loop-2'),
  '/redirect-loop-2': redirect('/redirect-loop'),
  '/redirect-for-ever': (request, response) =>
    redirect(`/redirect-for-ever?${Number(request.url?.split('?')[1] ?? 0) + 1}`)(request, response),
  '/redirect-cookie': (request, response) => {
    if (request.headers.cookie === 'seen=1') html(200, page('Cookie', '<p>You came back.</p>'))(request, response)
    else response.writeHead(302, { location: '/redirect-cookie', 'set-cookie': 'seen=1; Path=/' }).end()
  },
  '/redirect-ftp': redirect('ftp://127.0.0.1/file'),
  '/redirect-dead': redirect('http://127.0.0.1:1/'),
  // Never sends a byte.
  '/hangs': () => {},
  // Headers at once, then single bytes, without an end.
  '/slow': drip(() => 'x', 50),
  // As fast as the reader takes it, without an end.
  '/never-ends': pour(Number.POSITIVE_INFINITY, {}),
  '/100mb': pour(100, {}),
  '/100mb-declared': pour(100, { 'content-length': String(100 * 1024 * 1024) }),
  '/bomb.gz': bytes('text/html', gzipSync(Buffer.alloc(20 * 1024 * 1024, 'a')), { 'content-encoding': 'gzip' }),
  // Decodes to nothing, however much is sent.
  '/nothing.gz': (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' })
    response.write(Buffer.alloc(1_200_000, gzipSync('')), () => response.end())
  },
  '/charset-declared': bytes('text/html; charset=windows-1251', windows1251(`<title>${RUSSIAN}</title>`)),
  '/charset-wrong': bytes('text/html; charset=iso-8859-1', `<title>${RUSSIAN}</title>`),
  '/charset-meta': bytes('text/html', windows1251(`<meta charset="windows-1251"><title>${RUSSIAN}</title>`)),
  '/charset-none': bytes('text/html', `<title>${RUSSIAN}</title>`),
  '/charset-weird': bytes('text/html; charset="\t%00;no-such-thing', `<title>${RUSSIAN}</title>`),
  '/charset-utf16': bytes('text/html', Buffer.from(`\uFEFF<title>${RUSSIAN}</title>`, 'utf16le')),
  '/reset': (request) => request.socket.resetAndDestroy(),
  '/reset-body': (request, response) => {
    response.writeHead(200, { 'content-type': 'text/html', 'content-length': 10_000 })
    response.write('<title>Half</title>', () => request.socket.resetAndDestroy())
  },
  '/not-http': (request) => request.socket.end('SSH-2.0-OpenSSH_9.2\r\n'),
  '/gzip': bytes('text/html', gzipSync(page('Gzip', '<p>packed</p>')), { 'content-encoding': 'gzip' }),
  '/brotli': bytes('text/html', brotliCompressSync(page('Brotli', '<p>packed</p>')), { 'content-encoding': 'br' }),
  '/gzip-broken': bytes('text/html', 'this is not gzip', { 'content-encoding': 'gzip' }),
  '/empty': bytes('text/html', ''),
  '/blank': bytes('text/html', ' \r\n\t '),
  '/no-type': bytes('', page('No type', '<p>text</p>')),
  '/document.pdf': bytes('application/pdf', asset('checklist.pdf')),
  '/photo.png': bytes('image/png', asset('dusk.png')),
  '/notes.txt': bytes('text/plain', 'plain text\n'),
  '/escape': bytes('application/pdf', asset('checklist.pdf'), {
    'content-disposition': 'attachment; filename="../../../escape.pdf"',
  }),
}

/** `/redirect-N`: N steps to the index. `/status-N`: that HTTP status, with an error page. */
function numbered(path: string): Route | undefined {
  const [, kind, digits] = /^\/(redirect|status)-(\d+)$/.exec(path) ?? []
  const number = Number(digits)
  if (kind === 'status') return html(number, page(`Error ${number}`, '<p>Sorry.</p>'))
  return kind === 'redirect' ? redirect(number > 1 ? `/redirect-${number - 1}` : '/') : undefined
}

function html(status: number, body: string): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    response.writeHead(status, {
      'content-type': 'text/html; charset=utf-8',
      'content-length': Buffer.byteLength(body),
    })
    response.end(request.method === 'HEAD' ? undefined : body)
  }
}

function redirect(location: string): (request: IncomingMessage, response: ServerResponse) => void {
  return (_request, response) => response.writeHead(302, { location }).end()
}

function drip(piece: () => string, everyMs: number): Route {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' })
    response.write(piece())
    const timer = setInterval(() => response.write(piece()), everyMs)
    response.on('close', () => clearInterval(timer))
  }
}

/** A page of `megabytes`, generated while it is read. */
function pour(megabytes: number, headers: Readonly<Record<string, string>>): Route {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html', ...headers })
    const block = Buffer.alloc(1024 * 1024, 'All work and no play. ')
    let left = megabytes
    const more = () => {
      while (left > 0 && !response.destroyed) {
        left--
        if (!response.write(block)) return
      }
      if (left <= 0) response.end()
    }
    response.on('drain', more)
    more()
  }
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${title}</title><meta name="description" content="${title} of a test site"></head>
<body><nav><a href="/">Index</a></nav><main><article><h1>${title}</h1>${body}</article></main></body>
</html>
`
}

const SENTENCES = [
  'The ferry leaves the harbour at seven, and nobody has ever seen it leave at five past.',
  'Behind the church a path climbs through gorse to the old signal station.',
  'In winter the road is closed to everything but the milk lorry, which does not care.',
  'There are three bakers on the island, and each has an opinion about the other two.',
  'Seen from the water, the cliffs look like a shelf of books that somebody pushed too far back.',
  'The school has eleven pupils, two teachers, one piano, and a boat.',
  'When the wind is in the north you can hear the bell buoy from the post office.',
  'Rain is not mentioned here unless it comes from below.',
]

/** Prose that differs from page to page, about 7 kB together with its surroundings. */
function article(i: number, n: number): string {
  const paragraphs = Array.from({ length: 14 }, (_, p) => {
    const sentences = Array.from({ length: 6 }, (_, s) => SENTENCES[(i * 7 + p * 3 + s * 5) % SENTENCES.length])
    return `<p>Note ${i}.${p + 1}. ${sentences.join(' ')}</p>`
  })
  const previous = ((i + n - 2) % n) + 1
  const next = (i % n) + 1
  return `<img src="/picture.png" alt="A lighthouse" width="960" height="540">
${paragraphs.join('\n')}
<p>Read on: <a href="/page-${previous}.html">page ${previous}</a>, <a href="/page-${next}.html">page ${next}</a>.</p>`
}
