import type { Protocol } from 'devtools-protocol'

type Response = Protocol.Network.Response

/** More than the end of an empty body: of a chunked one 5 bytes, of an HTTP/2 stream 9. */
const EMPTY_END = 16
/** Answers with these statuses never have a body. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304])

/** Whether an answer has no body, by what it says. */
export const isBodiless = (method: string, { status, headers }: Response): boolean =>
  method === 'HEAD' ||
  BODILESS.has(status) ||
  (headerOf(headers, 'content-length') === '0' && headerOf(headers, 'transfer-encoding') === undefined)

/** Whether the browser redirects by itself, for example to https: no server was asked. */
export const isInvented = ({ headers, remoteIPAddress }: Response): boolean =>
  !remoteIPAddress && headerOf(headers, 'non-authoritative-reason') !== undefined

/**
 * The bytes that a body has at least, and may have at most. The browser does not report the pieces of one that becomes
 * a Blob, and cancels a picture that it cannot show as if it had ended.
 * @param size of the pieces that it has reported
 * @param end the bytes that have come in all, as the browser counts them
 */
export function sizesOf(size: number, { headers, encodedDataLength, fromDiskCache }: Response, end: number) {
  const came = end - encodedDataLength
  const announced = headerOf(headers, 'content-encoding') ? 0 : Number(headerOf(headers, 'content-length')) || 0
  const least = Math.max(size, announced)
  const isEmpty = least === 0 && came >= 0 && came < EMPTY_END && !fromDiskCache
  return { least, most: Math.max(least, came), isEmpty }
}

export const isPart = (response: Response) => response.status === 206 && !coversAll(response)

/** Stores a range that is the whole file as a full response, which replay tools look for. */
export function whole(response: Response, size: number): Response {
  if (response.status !== 206 || !coversAll(response, size)) return response
  const headers = Object.entries(response.headers).map(([name, value]) =>
    name.toLowerCase() === 'content-range' ? [`x-orig-${name.toLowerCase()}`, value] : [name, value],
  )
  return { ...response, status: 200, statusText: 'OK', headers: Object.fromEntries(headers) }
}

function coversAll({ headers }: Response, size?: number): boolean {
  const range = headerOf(headers, 'content-range') ?? ''
  const [, first, last, all] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(range.trim()) ?? []
  return first === '0' && Number(last) + 1 === Number(all) && (size === undefined || size === Number(all))
}

const headerOf = (headers: Response['headers'], wanted: string): string | undefined =>
  Object.entries(headers).find(([name]) => name.toLowerCase() === wanted)?.[1]
