import type { Session } from './cdp.ts'

/** A worker of a page, or a frame that has its own process. */
export interface InnerTarget {
  readonly session: Session
  readonly kind: 'worker' | 'frame'
  /** The URL of its script or document, if known when it starts. */
  readonly url: string
}

/** Prepares a target before any of its scripts runs. */
type Prepare = (target: InnerTarget) => Promise<void>

/**
 * The targets that a page starts besides its own document, at any depth: each waits until it is prepared. The page's
 * session reports nothing about them. Shared and service workers belong to the context rather than to the page.
 */
export class InnerTargets {
  readonly #preparing: Prepare[] = []
  /** The frames, by their sessions. */
  readonly #frames = new Map<string, Session>()
  readonly #leaving: ((session: Session) => void)[] = []

  /**
   * @param page its session, which must have received ATTACH
   * @param browser must have received ATTACH_SHARED, and reports the workers of all contexts
   * @param context the page's own
   */
  constructor(page: Session, browser: Session, context: string) {
    this.#attach(page)
    browser.on('Target.attachedToTarget', ({ sessionId, targetInfo: { type, url, browserContextId } }) => {
      if (!SHARED.some((filter) => filter.type === type)) return // A tab, to which its client has attached.
      const session = browser.session(sessionId)
      if (browserContextId === context) return this.#begin(session, 'worker', url)
      // Its own client resumes it when it is prepared: whoever does so first does it for all. One may not know how to.
      const resume = async () => {
        await session.send('Runtime.runIfWaitingForDebugger').catch(() => {})
        await browser.send('Target.detachFromTarget', { sessionId }).catch(() => {})
      }
      setTimeout(() => void resume(), OTHERS_MS).unref()
    })
  }

  /** The frames at the moment. */
  get frames(): readonly Session[] {
    return [...this.#frames.values()]
  }

  /** Calls `leave` for each frame that has left its process. */
  onLeave(leave: (session: Session) => void): void {
    this.#leaving.push(leave)
  }

  /** Also prepares each target from now on with this function. */
  prepare(prepare: Prepare): void {
    this.#preparing.push(prepare)
  }

  #attach(outer: Session): void {
    outer.on('Target.detachedFromTarget', ({ sessionId }) => {
      const frame = this.#frames.get(sessionId)
      this.#frames.delete(sessionId)
      if (frame) for (const leave of this.#leaving) leave(frame)
    })
    outer.on('Target.attachedToTarget', ({ sessionId, targetInfo: { type, url } }) => {
      const session = outer.session(sessionId)
      const kind = type === 'iframe' ? 'frame' : 'worker'
      if (kind === 'frame') this.#frames.set(sessionId, session)
      this.#begin(session, kind, url)
    })
  }

  #begin(session: Session, kind: InnerTarget['kind'], url: string): void {
    this.#attach(session)
    // The order matters while the target waits. It may end meanwhile.
    const begun = [
      session.send('Network.enable', {}),
      session.send('Target.setAutoAttach', ATTACH),
      ...this.#preparing.map((prepare) => prepare({ session, kind, url })),
    ]
    void Promise.allSettled([...begun, session.send('Runtime.runIfWaitingForDebugger')])
  }
}

/** How long another client has to prepare its worker. */
const OTHERS_MS = 10_000

const WAITING = { autoAttach: true, waitForDebuggerOnStart: true, flatten: true }
const SHARED = [{ type: 'shared_worker' }, { type: 'service_worker' }]

/** The parameters that make a tab attach to these targets (`Target.setAutoAttach`). */
export const ATTACH = { ...WAITING, filter: [{ type: 'worker' }, { type: 'iframe' }] }
/** Those that make a browser's session attach to workers that no tab owns. */
export const ATTACH_SHARED = { ...WAITING, filter: SHARED }
