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
 * session reports nothing about them.
 */
export class InnerTargets {
  readonly #preparing: Prepare[] = []
  /** The frames, by their sessions. */
  readonly #frames = new Map<string, Session>()
  readonly #leaving: ((session: Session) => void)[] = []

  /** @param page its session, which must have received ATTACH */
  constructor(page: Session) {
    this.#attach(page)
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
      this.#attach(session)
      // The order matters while the target waits. It may end meanwhile.
      const begun = [
        session.send('Network.enable', {}),
        session.send('Target.setAutoAttach', ATTACH),
        ...this.#preparing.map((prepare) => prepare({ session, kind, url })),
      ]
      void Promise.allSettled([...begun, session.send('Runtime.runIfWaitingForDebugger')])
    })
  }
}

/** The parameters that make a tab attach to these targets (`Target.setAutoAttach`). */
export const ATTACH = {
  autoAttach: true,
  waitForDebuggerOnStart: true,
  flatten: true,
  filter: [{ type: 'worker' }, { type: 'iframe' }],
}
