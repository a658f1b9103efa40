import { once } from 'node:events'
import { constants, createSecureServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { certificate } from './certificates.ts'

type Http2Route = (stream: ServerHttp2Stream) => void
const { NGHTTP2_INTERNAL_ERROR, NGHTTP2_CANCEL } = constants

const head = { ':status': 200, 'content-type': 'text/html', 'set-cookie': ['a=1', 'b=2'] }

/** A page, and the text after its end. */
const page =
  (body: string, then: (stream: ServerHttp2Stream) => void = (stream) => stream.end(), length = {}): Http2Route =>
  (stream) => {
    stream.respond({ ...head, ...length })
    stream.write(`<!doctype html><title>over HTTP/2</title>${body}`, () => then(stream))
  }
const BEGINNING = '<p>the beginning'
/** Pages that stop after their beginning, by the session of their reader. */
const halves = new WeakMap<object, ServerHttp2Stream>()
/** @param next the next request of a browser after reading the beginning, however long that took */
const half =
  (next: string): Http2Route =>
  (stream) => {
    halves.set(stream.session!, stream)
    page(`${BEGINNING}<img src="${next}" alt="none">`, () => {})(stream)
  }

/** Behaviour that servers show only in HTTP/2. */
const ROUTES: Readonly<Record<string, Http2Route>> = {
  '/': page('<p>text'),
  '/moved': (stream) => stream.respond({ ':status': 302, location: '/', 'content-length': 0 }, { endStream: true }),
  '/resets': (stream) => stream.close(NGHTTP2_INTERNAL_ERROR),
  '/cancels': (stream) => stream.close(NGHTTP2_CANCEL),
  '/ends': (stream) => stream.session?.destroy(),
  '/resets-late': page(BEGINNING, (stream) => setTimeout(() => stream.destroy(new Error('reset')), 100)),
  '/ends-late': page(BEGINNING, (stream) => setTimeout(() => stream.session?.destroy(), 100)),
  '/resets-when-read': half('/reset'),
  '/ends-when-read': half('/end'),
  '/reset': (stream) => {
    halves.get(stream.session!)?.destroy(new Error('reset'))
    stream.respond({ ':status': 404 }, { endStream: true })
  },
  '/end': (stream) => stream.session?.destroy(),
  '/too-short': page(BEGINNING, (stream) => stream.end(), { 'content-length': 10_000 }),
  '/needs-it': page('<img src="/resets" alt="none"><script src="/resets-late"></script><p>text'),
  '/leaves': page('<p>text', (stream) => {
    stream.session?.goaway(0)
    stream.end()
  }),
}

/** A site that speaks HTTP/2 and nothing else, with its own certificate. */
export async function startHttp2Site(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createSecureServer(certificate())
  const sessions = new Set<ServerHttp2Session>()
  server.on('session', (session) => {
    sessions.add(session)
    session.on('error', () => {}).once('close', () => sessions.delete(session))
  })
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {})
    const route = ROUTES[headers[':path'] ?? '']
    if (route) route(stream)
    else stream.respond({ ':status': 404 }, { endStream: true })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      for (const session of sessions) session.destroy()
      await closed
    },
  }
}
