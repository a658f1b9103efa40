import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { AppError, codeOf, messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { isDatabaseAway } from '../../db/trouble.ts'
import type { Beside } from '../../runner/options.ts'
import type { Archive } from '../archive.ts'
import { AWAY, archiveFigures, CONTENT_TYPE, type Figures, processFigures, prometheusText } from './figures.ts'

/** Where the metrics are: on this machine only, since nobody has to log in. */
interface Address {
  readonly host: string
  readonly port: number
}

/** A scraper needs one or two. */
const CONNECTIONS = 16
const SLOW = { headersTimeout: 5_000, requestTimeout: 10_000 } as const

/**
 * The metrics of a leader, at `/metrics` of an address that it has only while it leads: from its promotion until its
 * drain. While somebody else has the address it is tried again and again.
 */
export function metricsEndpoint(archive: Pick<Archive, 'home' | 'kind' | 'settings'>, at: Address, log: Log): Beside {
  let asked: Promise<Figures> | undefined
  /** Those who ask at the same time get the same answer: the leader has other things to do. */
  const figures = async () => {
    asked ??= archiveFigures(archive).finally(() => {
      asked = undefined
    })
    return await asked.catch((error: unknown) => {
      if (isDatabaseAway(error)) return AWAY
      throw error
    })
  }
  return (over) => {
    let server: Server | undefined
    over.addEventListener('abort', () => {
      server?.close()
      server?.closeAllConnections()
    })
    const whenDue = async () => {
      if (server?.listening || over.aborted) return
      server = createServer(SLOW, (request, response) => void answer(request, response, figures))
      server.maxConnections = CONNECTIONS
      await listening(server, at)
      if (over.aborted) server.close()
      else {
        const url = `http://${shownHost(at.host)}:${(server.address() as AddressInfo).port}/metrics`
        log.info(`metrics at ${url}`, { event: 'metrics.listen', url })
      }
    }
    return { whenDue, isBusy: false }
  }
}

async function listening(server: Server, { host, port }: Address): Promise<void> {
  const listens = once(server, 'listening')
  server.listen({ host, port })
  try {
    await listens
  } catch (error) {
    if (codeOf(error) !== 'EADDRINUSE') throw error
    throw new AppError(`another program has port ${port} of ${host}`)
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  figures: () => Promise<Figures>,
): Promise<void> {
  const end = (status: number, text: string, type = 'text/plain; charset=utf-8') => {
    response.writeHead(status, { 'Content-Type': type, 'X-Content-Type-Options': 'nosniff' }).end(text)
  }
  try {
    // A page elsewhere whose name was made to lead here is told nothing.
    if (!isOurs(request.headers.host)) return end(421, 'this is not the host that was asked for\n')
    if (request.url?.split('?')[0] !== '/metrics') return end(404, 'the metrics are at /metrics\n')
    if (request.method !== 'GET' && request.method !== 'HEAD') return end(405, 'metrics are only read\n')
    end(200, prometheusText({ ...(await figures()), ...processFigures() }), CONTENT_TYPE)
  } catch (error) {
    end(500, `${messageOf(error)}\n`)
  }
}

const isOurs = (host = '') => /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/.test(host)
const shownHost = (host: string) => (host.includes(':') ? `[${host}]` : host)
