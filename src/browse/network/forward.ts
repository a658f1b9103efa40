import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import type { Texts } from '../../base/config.ts'
import { messageOf } from '../../base/errors.ts'
import type { AddressFilter } from './address-filter.ts'
import { authorization, bare, connectByProxy, portOf, proxyFor, speaksHttp } from './user-proxy.ts'

/** Headers for the proxy alone. */
const OWN = /^proxy-/i

/** Passes on a request for an HTTP URL that the filter allows, through the user's proxy if there is one. */
export async function forward(
  filter: AddressFilter,
  env: Texts,
  url: URL,
  asked: IncomingMessage,
  answer: ServerResponse,
): Promise<void> {
  const refuse = (status: number, why: string) => {
    if (!answer.headersSent) answer.writeHead(status, printable(why)).end()
    else answer.destroy() // It broke off.
  }
  const refusal = filter.refusalOf(url)
  if (refusal !== undefined) {
    refuse(403, refusal)
    return
  }
  try {
    const sent = await passedOn(filter, env, url, asked)
    sent.on('error', (error) => refuse(502, messageOf(error)))
    sent.on('response', (got) => {
      got.on('error', () => answer.destroy())
      answer.writeHead(got.statusCode ?? 502, got.statusMessage, got.rawHeaders)
      got.pipe(answer)
    })
    answer.on('close', () => sent.destroy())
    asked.pipe(sent)
  } catch (error) {
    refuse(502, messageOf(error))
  }
}

/** A reason in a form that fits into a status line. */
export const printable = (why: string): string => why.replace(/[^\x20-\x7e]/g, '?')

async function passedOn(
  filter: AddressFilter,
  env: Texts,
  url: URL,
  { method, rawHeaders }: IncomingMessage,
): Promise<ClientRequest> {
  const headers = rawHeaders.filter((_, at, all) => !OWN.test(all[at - (at % 2)] ?? ''))
  const { request } = process.getBuiltinModule('node:http')
  const options = { method, headers, agent: false as const, setHost: false }
  const port = Number(url.port) || 80
  const host = bare(url.hostname)
  const proxy = proxyFor(env, 'http:', host, port)
  if (!proxy) return request(url, { ...options, lookup: filter.lookup(port) })
  await filter.check(host, port)
  if (!speaksHttp(proxy)) {
    const socket = await connectByProxy(proxy, host, port)
    return request(url, { ...options, createConnection: () => socket })
  }
  const { request: ask } = proxy.protocol === 'https:' ? process.getBuiltinModule('node:https') : { request }
  const own = Object.entries(authorization(proxy)).flat()
  const place = { host: bare(proxy.hostname), port: portOf(proxy), path: url.href }
  return ask({ ...options, ...place, headers: [...headers, ...own] })
}
