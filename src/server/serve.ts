import type { IncomingMessage, RequestListener } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import type { Archive } from '../app/archive.ts'
import type { Examined } from '../app/doctor/check.ts'
import { installedReplay } from '../app/replay/published.ts'
import { aborted } from '../base/abort.ts'
import { messageOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { noteUrl } from '../db/processes.ts'
import { presentRows } from '../processes/presence.ts'
import { Sessions } from './access/sessions.ts'
import { createApp } from './app.ts'
import { CopyAddresses } from './content/addresses.ts'
import { answerContent, answerNothingElse } from './content/listener.ts'
import { DatabaseWatch } from './database-watch.ts'
import { refusedAtDoor } from './door.ts'
import { Listener, listenAt, listenNear } from './listen.ts'
import { EVENTS_PATH, Events } from './live/events.ts'
import { contentPlaceOf, type Listen, namesOf } from './names.ts'
import { OlderServers } from './older-servers.ts'
import { holdersOf } from './port-holders.ts'
import { serverSecret } from './secret.ts'
import type { Stack } from './stack.ts'
import type { Web } from './web.ts'

export interface ServeOptions {
  /** Of our row, which is written. */
  readonly id: string
  readonly archive: Archive
  settingsNow(): Promise<Examined>
  readonly log: Log
  readonly listen: Listen
  /** Undefined: this server is to have no runner. */
  readonly stack: Stack | undefined
  /** Aborted when the server is to exit. */
  readonly stop: AbortSignal
  /** Called once it answers. @param link a one-time link to it */
  ready(link: string): void
}

/** Headers for requests that are refused. */
const PLAIN = {
  'Content-Type': 'text/plain; charset=utf-8',
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
}
/** How long requests in progress may take at the end, in ms. */
const LEAVE_MS = 2_000

/** The server, from start to end. @returns the pid of a newer server that took over, if that is why it ended */
export async function serve(options: ServeOptions): Promise<number | undefined> {
  const { id, archive, settingsNow, log, listen, stack, ready } = options
  const superseded = new AbortController()
  const stop = AbortSignal.any([options.stop, superseded.signal])
  const { home, settings } = archive
  const secret = serverSecret(home.dataDir)
  const sessions = new Sessions(home)
  const olders = new OlderServers(home, id)
  // Both listen before either answers: each must know the other's address.
  const [app, content] = [waiting(), waiting()]
  const place = await listenAt(app.listener, listen, olders)
  const contentPort = listen.port === 0 ? 0 : place.port + 1
  const contentAt = await listenNear(content.listener, { host: place.host, port: contentPort }, olders)
  const names = namesOf(home.dataDirId, place, settings.config)
  const copies = new CopyAddresses(contentPlaceOf(contentAt, settings.config), secret, sessions)
  const database = new DatabaseWatch(archive, log, stop)
  const web: Web = { archive, settingsNow, log, names, sessions, copies, database }
  const answer = getRequestListener(createApp(web).fetch)
  const events = new Events(web)
  answerNothingElse(content.listener.server)
  const published = () => installedReplay(settings.texts)
  content.answer(answerContent({ home, copies, app: names.origin, published }))
  app.answer((request, response) => {
    const refused = refusedAtDoor(request, names)
    if (!refused) {
      const answers = isFor(request, EVENTS_PATH) ? events.answer(request, response) : answer(request, response)
      return void Promise.resolve(answers).catch(() => response.destroy())
    }
    const { status, text, location } = refused
    response.writeHead(status, { ...PLAIN, ...(location && { Location: location }) })
    response.end(`${text}\n`)
  })
  await noteUrl(home.db, id, names.origin)
  ready(`${names.origin}/login#${await sessions.newCode()}`)
  // Another server that started at the same moment listens here, too: it gets the runner, and we exit.
  if (await olders.isSuperseded([place.port, contentAt.port].flatMap(holdersOf))) superseded.abort()
  else olders.leave().catch((error: unknown) => log.error(messageOf(error)))
  const stackEnds = stop.aborted ? undefined : stack?.run(stop)
  await aborted(stop)
  events.end()
  await Promise.all([app.listener.close(LEAVE_MS), content.listener.close(LEAVE_MS), stackEnds])
  const others = await presentRows(home).catch(() => [])
  return (
    others.findLast((row) => row.process_type === 'server' && row.id !== id && row.url === names.origin)?.pid ??
    undefined
  )
}

const isFor = ({ url = '' }: IncomingMessage, path: string) => url === path || url.startsWith(`${path}?`)

/** A listener whose requests wait until there is somebody to answer them. */
function waiting(): { readonly listener: Listener; answer(by: RequestListener): void } {
  const { promise, resolve } = Promise.withResolvers<RequestListener>()
  const listener = new Listener((request, response) => void promise.then((answer) => answer(request, response)))
  return { listener, answer: resolve }
}
