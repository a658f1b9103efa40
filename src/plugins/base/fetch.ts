import type { IncomingMessage } from 'node:http'
import { AddressFilter } from '../../base/address-filter.ts'
import { AppError } from '../../base/errors.ts'
import { headersFor } from '../../base/persona/headers.ts'
import { userAgent } from '../../base/user-agent.ts'
import type { Answer, Hop } from './answer.ts'
import type { HookContext } from './contract.ts'
import { ChainCookies, withoutValues } from './cookies.ts'
import { credentialsFor } from './persona.ts'
import { drop, headersOf, request } from './request.ts'
import { retryAfterSeconds } from './retry-after.ts'
import { flag, text } from './settings.ts'
import { recordingOf } from './warc/recording.ts'

const MAX_REDIRECTS = 20
const REDIRECTS = new Set([301, 302, 303, 307, 308])

/** The Accept-Encoding of a request. */
export type Encodings = 'identity' | 'gzip, br'

/** Hands back an answer whose body was not read: the next hook in the row that requests the same gets it. */
export function handBack({ visit }: HookContext, start: string, encodings: Encodings, answer: Answer): void {
  if (visit) visit.keep(start, encodings, answer)
  else drop(answer.body)
}

/** An answer that was requested under another deadline. */
function followedBy(signal: AbortSignal, answer: Answer): Answer {
  signal.throwIfAborted()
  const onAbort = () => answer.body.destroy(signal.reason as Error)
  signal.addEventListener('abort', onAbort, { once: true })
  answer.body.once('close', () => signal.removeEventListener('abort', onAbort))
  return answer
}

/**
 * GET `start`, following redirects (at most 20, http and https only, cookies kept along the chain), with the
 * persona's cookies and headers. `encodings` is the
 * Accept-Encoding: 'identity' for a file that is to be kept as it is. (No `deflate`: servers disagree about what it
 * is.) Throws AppError with one plain line for every failure; an HTTP error status is an answer like any other.
 */
export async function get(
  context: Pick<HookContext, 'url' | 'env' | 'signal' | 'visit' | 'answered'> & {
    readonly outputDir?: string | undefined
  },
  start: string,
  encodings: Encodings,
): Promise<Answer> {
  const left = context.visit?.take(start, encodings)
  if (left) {
    context.answered?.(left.status, retryAfterSeconds(left.headers['retry-after']))
    return followedBy(context.signal, left)
  }
  const recording = recordingOf(context)
  const persona = await credentialsFor(context)
  const cookies = await ChainCookies.with(persona.cookies)
  const seen = new Set<string>()
  const redirects: Hop[] = []
  const verifyTls = flag(context.env, 'CHECK_SSL_VALIDITY', true)
  const filter = AddressFilter.from(context.env)
  const language = text(context.env, 'ACCEPT_LANGUAGE')
  const headers: Record<string, string> = {
    'user-agent': userAgent(context.env),
    accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    'accept-encoding': encodings,
    ...(language !== undefined && { 'accept-language': language }),
  }
  for (let url = httpUrl(start, 'not a valid URL'); ; ) {
    const cookie = cookies.header(url)
    const secret = { ...headersFor(persona.headers, url), ...(cookie !== '' && { cookie }) }
    if (seen.has(`${url.href} ${cookie}`))
      throw new AppError(`redirect loop after ${redirects.length} redirects (${url.href})`)
    if (redirects.length > MAX_REDIRECTS) throw new AppError(`more than ${MAX_REDIRECTS} redirects`)
    seen.add(`${url.href} ${cookie}`)

    const onAnswer = (answer: IncomingMessage) => recording?.listen(url.href, headers, answer)
    const body = await request(url, {
      headers: { ...headers, ...secret },
      signal: context.signal,
      verifyTls,
      filter,
      onAnswer,
    })
    const hop: Hop = { url: url.href, status: body.statusCode ?? 0, headers: keptHeaders(headersOf(body), secret) }
    const location = REDIRECTS.has(hop.status) ? hop.headers['location'] : undefined
    if (location === undefined) {
      if (start === context.url) context.answered?.(hop.status, retryAfterSeconds(hop.headers['retry-after']))
      return { ...hop, statusText: body.statusMessage ?? '', redirects, requestHeaders: headers, body }
    }
    drop(body)
    await cookies.take(body.headers['set-cookie'] ?? [], url)
    redirects.push(hop)
    url = httpUrl(location, 'redirected to an invalid URL', url)
  }
}

/** What may be kept of an answer: to a request with credentials it may bring new ones. */
function keptHeaders(headers: Record<string, string>, secret: object): Record<string, string> {
  const given = headers['set-cookie']
  return given === undefined || Object.keys(secret).length === 0
    ? headers
    : { ...headers, 'set-cookie': withoutValues(given) }
}

/** `HTTP 404 Not Found`, as people write it. */
export function statusLine(answer: { readonly status: number; readonly statusText: string }): string {
  return `HTTP ${answer.status} ${answer.statusText}`.trim()
}

function httpUrl(text: string, complaint: string, base?: URL): URL {
  const url = URL.parse(text, base?.href)
  if (url === null) throw new AppError(`${complaint}: ${text.slice(0, 200)}`)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new AppError(`${base ? 'redirected to an ' : ''}unsupported scheme: ${url.protocol}`)
  url.hash = ''
  return url
}
