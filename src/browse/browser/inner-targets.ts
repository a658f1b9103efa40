import type { Session } from './cdp.ts'

/** A worker of a page, or a frame of it that has a process of its own. */
export interface InnerTarget {
  readonly session: Session
  readonly kind: 'worker' | 'frame'
  /** Of its script or document, as far as it is known when it begins. */
  readonly url: string
}

/** Does something with a target before a script of it runs. */
type Prepare = (target: InnerTarget) => Promise<void>

/**
 * What a page starts beside its own document, however deep: each waits until it is prepared. A session with the page
 * says nothing of what they do.
 */
export class InnerTargets {
  readonly #preparing: Prepare[] = []
  /** By their sessions. */
  readonly #frames = new Map<string, Session>()
  readonly #leaving: ((session: Session) => void)[] = []

  /** @param page its session, which must be told ATTACH */
  constructor(page: Session) {
    this.#attach(page)
  }

  /** The frames that are there now. */
  get frames(): readonly Session[] {
    return [...this.#frames.values()]
  }

  /** Told of each frame that is gone from its process. */
  onLeave(leave: (session: Session) => void): void {
    this.#leaving.push(leave)
  }

  /** From now on this is done with each. */
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
      // In this order, while it waits. It may end meanwhile.
      const begun = [
        session.send('Network.enable', {}),
        session.send('Target.setAutoAttach', ATTACH),
        ...this.#preparing.map((prepare) => prepare({ session, kind, url })),
      ]
      void Promise.allSettled([...begun, session.send('Runtime.runIfWaitingForDebugger')])
    })
  }
}

/** What a tab is told so that these are attached to (`Target.setAutoAttach`). */
export const ATTACH = {
  autoAttach: true,
  waitForDebuggerOnStart: true,
  flatten: true,
  filter: [{ type: 'worker' }, { type: 'iframe' }],
}
