import type { Cdp, Session } from './cdp.ts'
import { stay } from './stay.ts'

/** A page that leads on more often does so for ever: it stays where it is. */
const MOST_DOCUMENTS = 10

/** The document that a tab shows. */
export class MainDocument {
  /** How many the tab has shown, with this one. */
  number = 0
  isLoaded = false
  /** `unreachableUrl`: the page has led there, and nobody answers, so the document is the browser's own. */
  shown: { readonly url: string; readonly unreachableUrl?: string } = { url: 'about:blank' }
  readonly #cdp: Cdp
  readonly #target: string
  #staying: Promise<void> | undefined

  /** @param target the tab's, which is its main frame's as well */
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
    // A page that leads to another program while it loads has no load event. The empty tab stops loading, too.
    session.on('Page.frameStoppedLoading', ({ frameId }) => {
      if (frameId === target && this.number > 0) this.isLoaded = true
    })
  }

  /** From now on the tab shows this one, so that all that is taken of it is of one. */
  stay(): Promise<void> {
    this.#staying ??= stay(this.#cdp, this.#target)
    return this.#staying
  }
}
