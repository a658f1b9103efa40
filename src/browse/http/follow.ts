import type { IncomingMessage } from 'node:http'
import { flag, text } from '../../base/env-settings.ts'
import { AppError } from '../../base/errors.ts'
import { userAgent } from '../../base/user-agent.ts'
import { AddressFilter } from '../network/address-filter.ts'
import { isSecretHeader } from '../persona/credentials.ts'
import { credentialsFor } from '../persona/credentials-for.ts'
import { headersFor } from '../persona/headers.ts'
import type { RequestContext } from '../request-context.ts'
import { recordingOf } from '../warc/recording-of.ts'
import { differenceOf, type Seen } from '../warc/seen.ts'
import { REDIRECTS } from '../warc/whole.ts'
import type { Answer, Earlier, Hop } from './answer.ts'
import { ChainCookies, withoutValues } from './cookies.ts'
import { drop, headersOf, request } from './request.ts'

const MAX_REDIRECTS = 20
/** Without `deflate`: servers disagree about what it is. */
const ENCODINGS = 'gzip, br'

/** The answer at the end of a chain of redirects, before its body arrives. */
export interface Followed extends Omit<Answer, 'body'> {
  readonly message: IncomingMessage
  /** Whether it was requested only if it differs from the earlier copy. */
  readonly isConditional: boolean
}

export interface FollowOptions {
  /** For Accept-Encoding. */
  readonly encodings?: string
  /** An earlier copy that the server need not send again; used only without a persona's credentials. */
  readonly earlier?: Pick<Earlier, 'finalUrl' | 'conditions'> | undefined
  /** What the browser has got at `start`: it is requested alike, and what differs is refused. */
  readonly seen?: Seen | undefined
}

/**
 * GETs `start`, following redirects (at most 20, http and https only, cookies kept along the chain), with the persona's
 * cookies and headers. The caller reads or ends the message.
 */
export async function follow(
  context: RequestContext,
  start: string,
  { encodings = ENCODINGS, earlier, seen }: FollowOptions = {},
): Promise<Followed> {
  const recording = recordingOf(context)
  const persona = await credentialsFor(context)
  const page = start === context.url ? undefined : httpUrl(context.url, 'not a valid URL')
  const cookies = await ChainCookies.with(persona.cookies, page)
  const visited = new Set<string>()
  const redirects: Hop[] = []
  let hasCredentials = false
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
    const { cookie = cookies.header(url), ...alike } = redirects.length === 0 ? (seen?.headers ?? {}) : {}
    const secret = { ...headersFor(persona.headers, url), ...(cookie !== '' && { cookie }) }
    if (visited.has(`${url.href} ${cookie}`))
      throw new AppError(`redirect loop after ${redirects.length} redirects (${url.href})`)
    if (redirects.length > MAX_REDIRECTS) throw new AppError(`more than ${MAX_REDIRECTS} redirects`)
    visited.add(`${url.href} ${cookie}`)

    hasCredentials ||= Object.keys(secret).length > 0
    const isKnown = url.href === earlier?.finalUrl && !hasCredentials
    const open = { ...headers, ...alike, ...(isKnown && earlier?.conditions) }
    // Without its page, an answer is useless for replay: it must be whole, unless the browser brings it.
    let difference: string | undefined
    const onAnswer = (answer: IncomingMessage) => {
      difference = seen && differenceOf(seen, answer)
      if (isKnown && answer.statusCode === 304) recording?.retryLater(url.href)
      else if (difference === undefined) recording?.listen(url.href, open, answer)
    }
    const sent = { ...open, ...secret }
    const message = await request(url, { headers: sent, signal: context.signal, verifyTls, filter, onAnswer })
    if (difference !== undefined) {
      drop(message)
      throw new AppError(difference)
    }
    const hop = {
      url: url.href,
      status: message.statusCode ?? 0,
      headers: keptHeaders(headersOf(message), hasCredentials),
    }
    const location = REDIRECTS.has(hop.status) ? hop.headers['location'] : undefined
    if (location === undefined)
      return {
        ...{ ...hop, statusText: message.statusMessage ?? '', redirects, requestHeaders: open, message },
        ...{ hasCredentials, isConditional: isKnown },
      }
    drop(message)
    await cookies.take(message.headers['set-cookie'] ?? [], url)
    redirects.push(hop)
    url = httpUrl(location, 'redirected to an invalid URL', url)
  }
}

/** The headers of an answer that may be kept: if credentials were sent on the way to it, it may contain new ones. */
function keptHeaders(headers: Record<string, string>, hasCredentials: boolean): Record<string, string> {
  if (!hasCredentials) return headers
  const kept = Object.entries(headers).map(([name, value]) => {
    if (name === 'set-cookie') return [name, withoutValues(value)]
    return [name, isSecretHeader(name) ? '***' : value]
  })
  return Object.fromEntries(kept) as Record<string, string>
}

function httpUrl(text: string, complaint: string, base?: URL): URL {
  const url = URL.parse(text, base?.href)
  if (url === null) throw new AppError(`${complaint}: ${text.slice(0, 200)}`)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new AppError(`${base ? 'redirected to an ' : ''}unsupported scheme: ${url.protocol}`)
  url.hash = ''
  return url
}
