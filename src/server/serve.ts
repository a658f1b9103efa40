import { createServer, type RequestListener, type Server } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import type { Archive } from '../app/archive.ts'
import { aborted } from '../base/abort.ts'
import type { Log } from '../base/log.ts'
import { Sessions } from './access/sessions.ts'
import { createApp } from './app.ts'
import { CopyAddresses } from './content/addresses.ts'
import { answerContent } from './content/listener.ts'
import { refusedAtDoor } from './door.ts'
import { HEAD_MS, listenAt, REQUEST_MS } from './listen.ts'
import type { Listen } from './names.ts'
import { namesOf } from './names.ts'
import { serverSecret } from './secret.ts'
import type { Web } from './web.ts'

export interface ServeOptions {
  readonly archive: Archive
  readonly log: Log
  readonly listen: Listen
  /** Aborted when the server is to leave. */
  readonly stop: AbortSignal
  /** Called when it answers. @param link a one-time link to it */
  ready(web: Web, link: string): void
}

/** How long requests that are under way may take at the end, in ms. */
const LEAVE_MS = 2_000

/** The server, from start to end. */
export async function serve({ archive, log, listen, stop, ready }: ServeOptions): Promise<void> {
  const secret = serverSecret(archive.home.dataDir)
  const sessions = new Sessions(archive.home)
  // Both listen before either answers: each must know where the other is.
  const [app, content] = [waiting(), waiting()]
  const place = await listenAt(app.server, listen)
  const contentPort = listen.port === 0 ? 0 : place.port + 1
  const contentPlace = await listenAt(content.server, { host: place.host, port: contentPort })
  const names = namesOf(archive.home.dataDirId, place, undefined)
  const host = `localhost:${contentPlace.port}`
  const copies = new CopyAddresses({ protocol: 'http:', host, isWildcard: true }, secret, sessions)
  const web: Web = { archive, log, names, sessions, copies }
  const answer = getRequestListener(createApp(web).fetch)
  content.answer(answerContent({ home: archive.home, copies, app: names.origin }))
  app.answer((request, response) => {
    const refused = refusedAtDoor(request, names)
    if (!refused) return void answer(request, response)
    const { status, text, location } = refused
    response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', ...(location && { Location: location }) })
    response.end(`${text}\n`)
  })
  ready(web, `${names.origin}/login#${await sessions.newCode()}`)
  await aborted(stop)
  await Promise.all([close(app.server), close(content.server)])
}

/** A listener whose requests wait until somebody answers them. */
function waiting(): { readonly server: Server; answer(by: RequestListener): void } {
  const { promise, resolve } = Promise.withResolvers<RequestListener>()
  const server = createServer({ headersTimeout: HEAD_MS, requestTimeout: REQUEST_MS }, (request, response) => {
    void promise.then((answer) => answer(request, response))
  })
  return { server, answer: resolve }
}

/** Accepts no more, and ends what is under way in a moment. */
async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  const late = setTimeout(() => server.closeAllConnections(), LEAVE_MS)
  await closed
  clearTimeout(late)
}
