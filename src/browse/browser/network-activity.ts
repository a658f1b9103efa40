import type { Session } from './cdp.ts'

/** A step on the way from the URL that was asked for to the page. */
export interface Redirect {
  readonly from: string
  readonly to: string
  readonly status: number
}

/** These stay open as long as the page does. */
const ENDLESS: ReadonlySet<string> = new Set(['WebSocket', 'EventSource', 'Ping', 'Media', 'Prefetch'])

/** A browser follows no more. */
const MOST_REDIRECTS = 20

/** For whom a request is: a frame, and which of its documents. */
interface Asker {
  /** Through which it was heard of. */
  readonly session: Session
  readonly frameId: string | undefined
  /** Also the id of the request for that document. */
  readonly loaderId: string
  readonly type: string | undefined
}

/** What a tab requests: the answer to its main document, the way there, and whether anything is still under way. */
export class NetworkActivity {
  readonly redirects: Redirect[] = []
  /** Of the main document. */
  answer: { readonly url: string; readonly status: number; readonly type: string } | undefined
  /** Why the main document is not whole, if it is not: nobody here has stopped it. */
  brokenOff: string | undefined
  requests = 0
  /** Why the last request for a main document failed; undefined when none has. */
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

  /** What frames of a process that has ended requested is over. */
  forget(session: Session): void {
    this.#overWhere((asker) => asker.session === session)
  }

  /** Hears of the requests of a session: of the page, or of frames that have a process of their own. */
  hear(session: Session): void {
    const mainFrame = this.#mainFrame
    session.on('Network.requestWillBeSent', ({ requestId, loaderId, frameId, type, request, redirectResponse }) => {
      this.requests++
      if (redirectResponse) this.#moved.set(redirectResponse.url, request.url)
      if (type === 'Document' && frameId === mainFrame) this.#documents.set(requestId, request.url)
      if (type === 'Document' && frameId === mainFrame && redirectResponse)
        this.redirects.push({ from: redirectResponse.url, to: request.url, status: redirectResponse.status })
      // The end of a worker's own script, which no document loads, is told to nobody.
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
    // The end of some requests is told to nobody: of a document that was left before it was whole, of what it and its
    // frames requested (that these are gone is not told, either), of a document that stopped its own loading, and of
    // style sheets that made another document of it (XSLT). Loading ends after all of them.
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
        const isOnItsWay = loaderId === requestId && loaderId !== before // The document after this one.
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

  /** How long no request has been under way, in milliseconds; 0 while one is. */
  get quietMs(): number {
    return this.#open.size > 0 ? 0 : performance.now() - this.#quietSince
  }

  /** Where a file came from in the end. */
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
