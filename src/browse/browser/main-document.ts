import type { Cdp, Session } from './cdp.ts'
import { stay } from './stay.ts'

/** A page that navigates more often never stops: it is kept where it is. */
const MOST_DOCUMENTS = 10

/** The document that a tab shows. */
export class MainDocument {
  /** The number of documents that the tab has shown, including this one. */
  number = 0
  isLoaded = false
  /** `unreachableUrl`: the page navigated there, and nothing answered, so the document is the browser's error page. */
  shown: { readonly url: string; readonly unreachableUrl?: string } = { url: 'about:blank' }
  readonly #cdp: Cdp
  readonly #target: string
  #staying: Promise<void> | undefined

  /** @param target the id of the tab and of its main frame */
  constructor(cdp: Cdp, session: Session, target: string) {
    this.#cdp = cdp
    this.#target = target
    session.on('Page.frameNavigated', ({ frame }) => {
      if (frame.parentId !== undefined) return
      if (++this.number === MOST_DOCUMENTS) this.stay().catch(() => {})
      this.isLoaded = false
      this.shown = frame
    })
    session.on('Page.navigatedWithinDocument', ({ frameId, url }) => {
      if (frameId === target) this.shown = { url }
    })
    session.on('Page.loadEventFired', () => {
      this.isLoaded = true
    })
    // A page that opens another program while it loads has no load event. The empty tab stops loading, too.
    session.on('Page.frameStoppedLoading', ({ frameId }) => {
      if (frameId === target && this.number > 0) this.isLoaded = true
    })
  }

  /** Keeps the tab at this document from now on, so that all captures are of the same one. */
  stay(): Promise<void> {
    this.#staying ??= stay(this.#cdp, this.#target)
    return this.#staying
  }
}
