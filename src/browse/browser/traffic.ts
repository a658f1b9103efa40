import type { Protocol } from 'devtools-protocol'
import type { Headers } from '../warc/http-message.ts'
import { Payload } from '../warc/payload.ts'
import type { Recording } from '../warc/recording.ts'
import { seen } from '../warc/seen.ts'
import type { Exchange } from '../warc/writer.ts'
import type { Session } from './cdp.ts'
import { isBodiless, isInvented, isPart, sizesOf, whole } from './received-body.ts'
import type { Tab } from './tab.ts'

/** A larger body is requested again at the end, and streamed to disk: the browser would return it in one piece. */
const LARGEST = 8 * 1024 * 1024
/** The browser keeps a body until so many bytes of later ones have arrived. */
const KEPT = 4 * LARGEST

type ReceivedEvent = Protocol.Network.ResponseReceivedEvent

/** A request that a tab has made. */
interface Asked {
  readonly event: Protocol.Network.RequestWillBeSentEvent
  /** The headers as sent arrive separately, one event for each step of a redirect. */
  readonly step: number
  response?: ReceivedEvent
  size: number
}

/**
 * Records from now on what a tab and its workers load.
 * @param secret lower-case names of headers; requests that have one are not recorded
 */
export async function recordTraffic(tab: Tab, recording: Recording, secret: ReadonlySet<string>): Promise<void> {
  const refusal = ({ url, remoteIPAddress = '' }: Protocol.Network.Response) =>
    tab.filter.refusalOfAnswer(url, remoteIPAddress)
  tab.inner.prepare(async ({ session, kind, url }) => {
    if (kind === 'worker') recording.retryLater(bare(url)) // The end of the worker's own script is not reported.
    await recordSession(session, recording, secret, refusal)
  })
  await recordSession(tab.session, recording, secret, refusal)
}

/**
 * Records what a target loads. The browser keeps bodies outside of the tab (`configureDurableMessages`): the exact
 * bytes before content encoding, which remain when the tab navigates to another page.
 */
async function recordSession(
  session: Session,
  recording: Recording,
  secret: ReadonlySet<string>,
  refusal: (response: Protocol.Network.Response) => string | undefined,
): Promise<void> {
  const asked = new Map<string, Asked>()
  const sent = new Map<string, Protocol.Network.Headers[]>()
  const over = (requestId: string) => {
    const request = asked.get(requestId)
    asked.delete(requestId)
    return request
  }
  const allSent = ({ event: { requestId }, step }: Asked, hasExtra: boolean) =>
    hasExtra ? sent.get(requestId)?.[step] : undefined
  const sentFor = (from: Asked, hasExtra: boolean) =>
    listed(allSent(from, hasExtra) ?? from.event.request.headers).filter(([name]) => !secret.has(name.toLowerCase()))
  const exchange = (from: Asked, response: Protocol.Network.Response, body: Payload, hasExtra: boolean): Exchange => {
    const { request, wallTime, type } = from.event
    return {
      url: bare(request.url),
      at: new Date(wallTime * 1000),
      method: request.method,
      requestHeaders: sentFor(from, hasExtra),
      requestBody: bodyOf(request),
      ...{ status: response.status, statusText: response.statusText, headers: listed(response.headers), body },
      isDecoded: true,
      ip: response.remoteIPAddress?.replace(/^\[|\]$/g, ''),
      protocol: response.protocol,
      resourceType: type?.toLowerCase(),
    }
  }
  const again = (request: Asked, { response: { status, headers }, hasExtraInfo }: ReceivedEvent) =>
    recording.retryLater(
      bare(request.event.request.url),
      seen(sentFor(request, hasExtraInfo), allSent(request, hasExtraInfo) !== undefined, {
        status,
        headers: listed(headers),
      }),
    )
  const bodiless = (request: Asked, { response, hasExtraInfo }: Pick<ReceivedEvent, 'response' | 'hasExtraInfo'>) =>
    exchange(request, response, Payload.of(Buffer.alloc(0)), hasExtraInfo)
  const finished = async (requestId: string, request: Asked, end: number): Promise<Exchange | undefined> => {
    const { event, response } = request
    if (!response) return undefined
    const { url, method } = event.request
    if (isBodiless(method, response.response)) return bodiless(request, response)
    const { least, most, isEmpty } = sizesOf(request.size, response.response, end)
    // Replay answers range requests from the whole file.
    if (method === 'GET' && (most > LARGEST || isPart(response.response))) again(request, response)
    else if (most > LARGEST) recording.leaveOut(bare(url), 'the browser does not return a body this large')
    if (most > LARGEST) return undefined
    const bytes = await session.send('Network.getResponseBody', { requestId }).then(
      ({ body, base64Encoded }) => Buffer.from(body, base64Encoded ? 'base64' : 'utf8'),
      () => (isEmpty ? Buffer.alloc(0) : undefined),
    )
    const isWhole = bytes && (isEmpty || bytes.length >= Math.max(least, 1))
    if (isWhole)
      return exchange(request, whole(response.response, bytes.length), Payload.of(bytes), response.hasExtraInfo)
    if (method === 'GET') again(request, response)
    else recording.leaveOut(bare(url), 'the browser did not return the body')
    return undefined
  }

  session.on('Network.requestWillBeSentExtraInfo', ({ requestId, headers }) => {
    sent.set(requestId, [...(sent.get(requestId) ?? []), headers])
  })
  session.on('Network.requestWillBeSent', (event) => {
    const { requestId, redirectResponse, redirectHasExtraInfo } = event
    const before = asked.get(requestId)
    if (before && redirectResponse && isInvented(redirectResponse))
      recording.leads(bare(redirectResponse.url), bare(event.request.url))
    else if (before && redirectResponse && refusal(redirectResponse) === undefined)
      recording.add(
        bare(redirectResponse.url),
        Promise.resolve(bodiless(before, { response: redirectResponse, hasExtraInfo: redirectHasExtraInfo })),
      )
    const step = (before?.step ?? 0) + (before && redirectHasExtraInfo ? 1 : 0)
    if (/^https?:/.test(event.request.url)) asked.set(requestId, { event, step, size: 0 })
  })
  session.on('Network.requestServedFromCache', ({ requestId }) => over(requestId)) // The tab has loaded it before.
  session.on('Network.responseReceived', (event) => {
    const request = asked.get(event.requestId)
    const why = refusal(event.response)
    if (why !== undefined) {
      recording.leaveOut(bare(event.response.url), why)
      over(event.requestId)
    } else if (request) request.response = event
  })
  session.on('Network.dataReceived', ({ requestId, dataLength }) => {
    const request = asked.get(requestId)
    if (request) request.size += dataLength
  })
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const request = over(requestId)
    if (!request) return
    const coming = finished(requestId, request, encodedDataLength).finally(() => sent.delete(requestId))
    recording.add(bare(request.event.request.url), coming)
  })
  session.on('Network.loadingFailed', ({ requestId, errorText, type }) => {
    const request = over(requestId)
    if (!request) return void sent.delete(requestId)
    const { response } = request
    const { url, method } = request.event.request
    // Scripts seldom read what has no body.
    if (response && isBodiless(method, response.response))
      recording.add(bare(url), Promise.resolve(bodiless(request, response)))
    // A player stops when it has enough.
    else if (response && type === 'Media') again(request, response)
    else recording.leaveOut(bare(url), errorText)
    sent.delete(requestId)
  })
  recording.loads(() => [...asked.values()].map(({ event }) => bare(event.request.url)))
  session.on('Network.webSocketCreated', ({ url }) => recording.noteSocket(url))
  await session.send('Network.configureDurableMessages', { maxTotalBufferSize: KEPT, maxResourceBufferSize: LARGEST })
}

/** A URL without its fragment, which is never sent. */
function bare(url: string): string {
  return url.replace(/#.*$/s, '')
}

/** Repeated headers arrive as lines of one. */
function listed(headers: Protocol.Network.Headers): Headers {
  return Object.entries(headers).flatMap(([name, values]) => values.split('\n').map((value) => [name, value] as const))
}

function bodyOf({ postDataEntries, postData }: Protocol.Network.Request): Buffer | undefined {
  if (postDataEntries?.some(({ bytes }) => bytes === undefined)) return undefined // A part of it is no body.
  const pieces = postDataEntries?.map(({ bytes = '' }) => Buffer.from(bytes, 'base64'))
  if (pieces && pieces.length > 0) return Buffer.concat(pieces)
  return postData === undefined ? undefined : Buffer.from(postData)
}
