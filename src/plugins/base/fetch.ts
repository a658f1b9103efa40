import { join } from 'node:path'
import { unlessAborted } from '../../base/abort.ts'
import { AppError } from '../../base/errors.ts'
import { userAgent } from '../../base/user-agent.ts'
import type { Answer, Hop } from './answer.ts'
import type { HookContext } from './contract.ts'
import { ChainCookies } from './cookies.ts'
import { Received } from './received.ts'
import { drop, headersOf, request } from './request.ts'
import { retryAfterSeconds } from './retry-after.ts'
import { flag } from './settings.ts'
import { ANSWER } from './visit.ts'

const MAX_REDIRECTS = 20
const REDIRECTS = new Set([301, 302, 303, 307, 308])

/** No `deflate`: servers disagree about what it is. */
const ENCODINGS = 'gzip, br'
/** Where a long body lies while hooks may read it, beside their folders, or in that of a hook that runs alone. */
const RECEIVED = '.received'

type Context = Pick<HookContext, 'url' | 'env' | 'signal'> &
  Partial<Pick<HookContext, 'outputDir' | 'visit' | 'answered' | 'spend' | 'onEnd'>>

/**
 * The answer to a GET of `start`, after redirects (at most 20, http and https only, cookies kept along the chain).
 * Throws AppError with one plain line for every failure; an HTTP error status is an answer like any other.
 *
 * The page itself is asked for once: all hooks of a row get the same answer, or the same failure, and together they
 * wait for it no longer than the most patient one would alone. The body of any other answer is the caller's to close.
 */
export async function get(context: Context, start: string): Promise<Answer> {
  const { onEnd } = context
  if (start !== context.url || !onEnd) return await ask(context, start)
  const answer = await pageOf({ ...context, onEnd })
  context.answered?.(answer.status, retryAfterSeconds(answer.headers['retry-after']))
  return answer
}

type PageContext = Context & Required<Pick<Context, 'onEnd'>>

/** The request for the page, on behalf of all hooks of a row. */
export interface PageRequest {
  readonly began: number
  readonly answer: Promise<Answer>
  here: { readonly answer: Answer; readonly afterMs: number } | undefined
}

async function pageOf(context: PageContext): Promise<Answer> {
  const { visit, signal } = context
  const begin = () => requestPage(context)
  let request = visit ? visit.once(ANSWER, begin) : begin()
  if (request.here?.answer.body.isLost) {
    await request.here.answer.body.close()
    visit?.forget(ANSWER)
    request = visit!.once(ANSWER, begin)
  }
  const { here, began } = request
  context.spend?.(here ? here.afterMs + here.answer.body.waitedMs : performance.now() - began)
  return await unlessAborted(request.answer, signal)
}

function requestPage(context: PageContext): PageRequest {
  const stop = new AbortController()
  const began = performance.now()
  const { url, outputDir, visit } = context
  const place = outputDir && join(outputDir, visit ? '..' : '.', RECEIVED)
  const answer = ask({ ...context, signal: stop.signal }, url, place)
  const request: PageRequest = { began, answer, here: undefined }
  const arrived = answer.then(
    (there) => {
      request.here = { answer: there, afterMs: performance.now() - began }
    },
    () => {},
  )
  context.onEnd(async () => {
    if (!request.here) stop.abort(new AppError('not needed any more'))
    await arrived
    await request.here?.answer.body.close()
  })
  return request
}

/** @param place for a long body */
async function ask(context: Context, start: string, place?: string): Promise<Answer> {
  const cookies = new ChainCookies()
  const seen = new Set<string>()
  const redirects: Hop[] = []
  const verifyTls = flag(context.env, 'CHECK_SSL_VALIDITY', true)
  const headers: Record<string, string> = {
    'user-agent': userAgent(context.env),
    accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    'accept-encoding': ENCODINGS,
  }
  for (let url = httpUrl(start, 'not a valid URL'); ; ) {
    const cookie = cookies.header(url)
    const requestHeaders = cookie === '' ? headers : { ...headers, cookie }
    if (seen.has(`${url.href} ${cookie}`))
      throw new AppError(`redirect loop after ${redirects.length} redirects (${url.href})`)
    if (redirects.length > MAX_REDIRECTS) throw new AppError(`more than ${MAX_REDIRECTS} redirects`)
    seen.add(`${url.href} ${cookie}`)

    const message = await request(url, { headers: requestHeaders, signal: context.signal, verifyTls })
    const hop: Hop = { url: url.href, status: message.statusCode ?? 0, headers: headersOf(message) }
    const location = REDIRECTS.has(hop.status) ? hop.headers['location'] : undefined
    if (location === undefined) {
      const body = new Received(message, () => drop(message), place)
      return { ...hop, statusText: message.statusMessage ?? '', redirects, requestHeaders, body }
    }
    drop(message)
    cookies.take(message.headers['set-cookie'] ?? [], url)
    redirects.push(hop)
    url = httpUrl(location, 'redirected to an invalid URL', url)
  }
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
