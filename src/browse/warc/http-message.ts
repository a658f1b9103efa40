/** Headers in their order; a name may occur more than once. */
export type Headers = readonly (readonly [name: string, value: string])[]

/** These would reveal who was logged in, so they are never written. */
const SECRET = new Set(['authorization', 'cookie', 'proxy-authorization', 'set-cookie', 'set-cookie2'])

/** The prefix of headers that are not true of the stored body, as other browser recorders use it. */
const ORIGINAL = 'x-orig-'

/** How a stored body relates to the one that was sent. */
export interface StoredBody {
  readonly size: number
  /** The browser returns bodies without their content encoding. */
  readonly isDecoded: boolean
}

/**
 * The head of a request, with its empty line.
 * @param size of the stored body: the browser does not tell those that have a file or Blob in them
 */
export function requestHead(method: string, url: string, headers: Headers, size = 0): string {
  const { pathname, search, host } = new URL(url)
  // Pseudo-headers of HTTP/2, which begin with a colon, are in the first line here.
  const rest = headers.filter(([name]) => !name.startsWith(':') && name.toLowerCase() !== 'host')
  const kept = rest.map(([name, value]) => [hasOtherLength(name, value, size) ? renamed(name) : name, value] as const)
  return head(`${method} ${pathname}${search} HTTP/1.1`, [['Host', host], ...kept])
}

/**
 * The head of a response, with its empty line. Bodies are stored without chunks; headers that would contradict the
 * stored body are renamed.
 */
export function responseHead(status: number, text: string, headers: Headers, body: StoredBody): string {
  const kept = headers.map(([name, value]) => {
    const plain = name.toLowerCase()
    const isUntrue =
      plain === 'transfer-encoding' ||
      (plain === 'content-encoding' && body.isDecoded) ||
      hasOtherLength(name, value, body.size)
    return [isUntrue ? renamed(name) : name, value] as const
  })
  const hasLength = kept.some(([name]) => name.toLowerCase() === 'content-length')
  return head(
    `HTTP/1.1 ${status} ${text}`.trimEnd(),
    hasLength ? kept : [...kept, ['Content-Length', String(body.size)]],
  )
}

const hasOtherLength = (name: string, value: string, size: number) =>
  name.toLowerCase() === 'content-length' && value.trim() !== String(size)

const renamed = (name: string) => `${ORIGINAL}${name.toLowerCase()}`

function head(first: string, headers: Headers): string {
  const lines = headers
    .filter(([name]) => !SECRET.has(name.toLowerCase()))
    .map(([name, value]) => `${name}: ${value.replace(/[\r\n]+/g, ' ')}\r\n`)
  return `${first}\r\n${lines.join('')}\r\n`
}

/** The first value of a header; undefined when there is none. */
export function headerIn(headers: Headers, name: string): string | undefined {
  return headers.find(([each]) => each.toLowerCase() === name)?.[1]
}
