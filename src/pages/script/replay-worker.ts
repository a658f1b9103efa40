// The worker that replays: ReplayWeb.page's own, unchanged, whose every answer holds the page back as ours do.

/** The headers that hold a page back, which the server has written before this. */
declare const HELD: Readonly<Record<string, string>>
declare const FetchEvent: { readonly prototype: Responding } | undefined
declare function importScripts(url: string): void

interface Responding {
  readonly request: Request
  respondWith(answer: Response | PromiseLike<Response>): void
}

/** What a page that was archived may have said, and what a browser would do for it. */
const DROPPED = [
  ...['link', 'refresh', 'service-worker-allowed', 'clear-site-data', 'reporting-endpoints', 'report-to', 'nel'],
  ...['speculation-rules', 'origin-trial', 'accept-ch', 'critical-ch', 'content-security-policy-report-only'],
]
/** An answer with one of these has no body. */
const BODILESS = [204, 205, 304]
const REDIRECTS = [301, 302, 303, 307, 308]
/** What each page that is replayed runs first. */
const FIRST_SCRIPT = '/replay/static/wombat.js'
/** Calls are forbidden anyway; in a frame Chromium 156 crashes where a page tries one. */
const WITHOUT_CALLS = 'delete self.RTCPeerConnection; delete self.webkitRTCPeerConnection;'

// The same script is a plain worker, too, which answers nobody.
if (typeof FetchEvent !== 'undefined') {
  const { prototype } = FetchEvent
  const { respondWith } = prototype
  prototype.respondWith = function (this: Responding, answer) {
    const { url } = this.request
    const isFirst = new URL(url).pathname === FIRST_SCRIPT
    respondWith.call(
      this,
      Promise.resolve(answer).then((given) => (isFirst ? withoutCalls(given, url) : held(given, url))),
    )
  }
}
importScripts('/replay/wabac.js')

function held(answer: Response, url: string): Response {
  // The headers of such an answer cannot be changed: it is none.
  if (answer.type === 'error' || answer.type.startsWith('opaque')) return Response.error()
  const { status, statusText } = answer
  const headers = new Headers(answer.headers)
  for (const name of DROPPED) headers.delete(name)
  for (const [name, value] of Object.entries(HELD)) headers.set(name, value)
  if (REDIRECTS.includes(status)) {
    const target = new URL(headers.get('location') ?? '', url)
    if (target.origin !== location.origin) return Response.error()
    headers.set('location', target.href)
  }
  return new Response(BODILESS.includes(status) ? null : answer.body, { status, statusText, headers })
}

async function withoutCalls(answer: Response, url: string): Promise<Response> {
  return held(new Response(`${WITHOUT_CALLS}\n${await answer.text()}`, answer), url)
}
