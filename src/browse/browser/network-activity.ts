import type { Session } from './cdp.ts'

/** A step on the way from the requested URL to the page. */
export interface Redirect {
  readonly from: string
  readonly to: string
  readonly status: number
}

/** These stay open as long as the page. */
const ENDLESS: ReadonlySet<string> = new Set(['WebSocket', 'EventSource', 'Ping', 'Media', 'Prefetch'])

/** Browsers follow no more. */
const MOST_REDIRECTS = 20

/** The origin of a request: a frame, and which of its documents. */
interface Asker {
  /** The session that reported it. */
  readonly session: Session
  readonly frameId: string | undefined
  /** Also the id of the request for that document. */
  readonly loaderId: string
  readonly type: string | undefined
}

/**
 * The network activity of a tab: the answer for its main document, the redirects to it, and whether any request is
 * open.
 */
export class NetworkActivity {
  readonly redirects: Redirect[] = []
  /** The answer for the main document. */
  answer: { readonly url: string; readonly status: number; readonly type: string } | undefined
  /** Why the main document is incomplete, unless we have stopped it. */
  brokenOff: string | undefined
  requests = 0
  /** Why the last request for a main document failed; undefined when none did. */
  failure: { readonly url: string; readonly errorText: string } | undefined
  readonly #moved = new Map<string, string>()
  readonly #documents = new Map<string, string>()
  readonly #open = new Map<string, Asker>()
  readonly #mainFrame: string
  #quietSince = performance.now()

  constructor(session: Session, mainFrame: string) {
    this.#mainFrame = mainFrame
    this.hear(session)
  }

  /** Drops the requests of frames whose process has ended. */
  forget(session: Session): void {
    this.#overWhere((asker) => asker.session === session)
  }

  /** Listens to the requests of a session: of the page, or of frames that have their own process. */
  hear(session: Session): void {
    const mainFrame = this.#mainFrame
    session.on('Network.requestWillBeSent', ({ requestId, loaderId, frameId, type, request, redirectResponse }) => {
      this.requests++
      if (redirectResponse) this.#moved.set(redirectResponse.url, request.url)
      if (type === 'Document' && frameId === mainFrame) this.#documents.set(requestId, request.url)
      if (type === 'Document' && frameId === mainFrame && redirectResponse)
        this.redirects.push({ from: redirectResponse.url, to: request.url, status: redirectResponse.status })
      // The end of a worker's own script, which belongs to no document, is never reported.
      if (loaderId !== '' && (type === undefined || !ENDLESS.has(type)))
        this.#open.set(requestId, { session, frameId, loaderId, type })
    })
    let answered = ''
    session.on('Network.responseReceived', ({ requestId, frameId, type, response }) => {
      if (type !== 'Document' || frameId !== mainFrame) return
      answered = requestId
      this.brokenOff = undefined
      this.answer = { url: response.url, status: response.status, type: response.mimeType }
    })
    session.on('Network.loadingFinished', ({ requestId }) => this.#over(requestId))
    session.on('Network.loadingFailed', ({ requestId, errorText, canceled }) => {
      this.#over(requestId)
      const url = this.#documents.get(requestId)
      if (url === undefined) return
      this.failure = { url, errorText }
      if (requestId === answered && !canceled) this.brokenOff = errorText
    })
    // The end of some requests is never reported: those of a document that was left before it was complete, and of its
    // frames (whose removal is not reported, either), of a document that stopped its own loading, and of style sheets
    // that turned it into another document (XSLT). Loading ends after all of them.
    const shown = new Map<string, string>()
    const parents = new Map<string, string>()
    const isWithin = (frameId: string | undefined, outer: string): boolean => {
      const parent = parents.get(frameId ?? '')
      return parent !== undefined && (parent === outer || isWithin(parent, outer))
    }
    session.on('Page.frameAttached', ({ frameId, parentFrameId }) => parents.set(frameId, parentFrameId))
    session.on('Page.frameNavigated', ({ frame: { id, loaderId: now } }) => {
      const before = shown.get(id)
      shown.set(id, now)
      this.#overWhere(({ frameId, loaderId }, requestId) => {
        const isOnItsWay = loaderId === requestId && loaderId !== before // The next document.
        return isWithin(frameId, id) || (frameId === id && loaderId !== now && !isOnItsWay)
      })
    })
    session.on('Page.frameStoppedLoading', (loaded) =>
      this.#overWhere(
        ({ frameId, loaderId, type }) =>
          frameId === loaded.frameId &&
          loaderId === shown.get(frameId) &&
          (type === 'Document' || type === 'Stylesheet'),
      ),
    )
    session.on('Page.frameDetached', (gone) => this.#overWhere(({ frameId }) => frameId === gone.frameId))
  }

  /** For how long no request has been open, in milliseconds; 0 while one is. */
  get quietMs(): number {
    return this.#open.size > 0 ? 0 : performance.now() - this.#quietSince
  }

  /** The final URL of a file, after redirects. */
  locationOf(url: string): string {
    let location = url
    for (let steps = 0; steps < MOST_REDIRECTS; steps++) location = this.#moved.get(location) ?? location
    return location
  }

  #overWhere(isOver: (asker: Asker, requestId: string) => boolean): void {
    for (const [requestId, asker] of this.#open) if (isOver(asker, requestId)) this.#over(requestId)
  }

  #over(requestId: string): void {
    if (this.#open.delete(requestId) && this.#open.size === 0) this.#quietSince = performance.now()
  }
}
