import type { ProtocolMapping } from 'devtools-protocol/types/protocol-mapping.js'
import WebSocket from 'ws'
import { AppError, codeOf } from '../../base/errors.ts'
import { ENDED } from './turns.ts'

type Commands = ProtocolMapping.Commands
type Events = ProtocolMapping.Events
type Listener = (params: unknown) => void

/** A browser that is exiting still answers, but no longer has or creates sessions, tabs and contexts. */
const LEAVING = /^(Session with given id not found|No target with given id|Failed to (find|create) browser context)/

/** The relay between us and the browser, if it has not answered so many times, is frozen. */
const ASK_MS = 2_000
const MOST_UNANSWERED = 4
const CONNECT_MS = 5_000

interface Answer {
  readonly id?: number
  readonly result?: unknown
  readonly error?: { readonly message: string }
  readonly method?: string
  readonly params?: unknown
  readonly sessionId?: string
}

/** A conversation with the browser, or with one of its tabs. */
export interface Session {
  /** Throws AppError when the browser refuses the command, or is gone. */
  send<M extends keyof Commands>(method: M, ...params: Commands[M]['paramsType']): Promise<Commands[M]['returnType']>
  on<E extends keyof Events>(event: E, listener: (...params: Events[E]) => void): void
  /** The conversation with an attached target: a tab, or a worker of it. */
  session(sessionId: string): Session
}

/** The browser is gone, or does not answer: unfinished work may be tried again in the next one. */
export class BrowserGone extends AppError {
  /** There will be no other one for this page. */
  readonly isForGood: boolean
  /** It had been connected to. */
  readonly wasThere: boolean
  /** The browser exited by itself, perhaps because of something on a page. */
  readonly isOwnEnd: boolean
  /** @param why in a few words, if known */
  constructor({ isForGood = false, wasThere = false, isOwnEnd = false, why = '' } = {}) {
    super(why === '' ? 'the browser ended' : `the browser ended: ${why}`)
    this.isForGood = isForGood
    this.wasThere = wasThere
    this.isOwnEnd = isOwnEnd
  }
}

/** Other pages have, or had, exclusive use of the browser: one after another, because it ended while they were open. */
export class NoTurn extends AppError {
  constructor(message = 'other pages use the browser exclusively') {
    super(message)
  }
}

/** The process of a tab has exited, or was killed. */
export class TabCrashed extends AppError {
  /** @param why in a few words, if known (relay.ts) */
  constructor(why?: string) {
    super(why === undefined ? 'the page crashed its tab' : `the page crashed its tab: ${why}`)
  }
}

/** The page has received an answer from a forbidden address: nothing more is taken from it. */
export class AnswerRefused extends AppError {}

/** For a frame, element or file that may be gone: it is left out. Rethrows when the tab or browser is gone. */
export function unlessGone(error: unknown): undefined {
  const isAll = [BrowserGone, TabCrashed, AnswerRefused].some((kind) => error instanceof kind)
  if (isAll || !(error instanceof AppError)) throw error
  return undefined
}

/** A connection to a browser's DevTools protocol, with one session per tab ("flat" mode). */
export class Cdp implements Session {
  readonly #socket: WebSocket
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>()
  readonly #listeners = new Map<string, Listener[]>()
  readonly #closed = Promise.withResolvers<BrowserGone>()
  #next = 1

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.on('message', (data) => this.#receive(JSON.parse(String(data)) as Answer))
    socket.on('error', () => {}) // 'close' follows.
    let unanswered = 0
    const asking = setInterval(() => {
      if (unanswered++ === MOST_UNANSWERED) socket.terminate()
      else socket.ping()
    }, ASK_MS).unref()
    socket.on('pong', () => {
      unanswered = 0
    })
    socket.once('close', (code, why) => {
      clearInterval(asking)
      const gone = new BrowserGone({ wasThere: true, isOwnEnd: code === ENDED, why: String(why) })
      this.#closed.resolve(gone)
      for (const { reject } of this.#waiting.values()) reject(gone)
      this.#waiting.clear()
    })
  }

  /** Throws BrowserGone when nothing answers there. */
  static async connect(endpoint: string): Promise<Cdp> {
    const socket = new WebSocket(endpoint, {
      perMessageDeflate: false,
      maxPayload: 1024 ** 3,
      handshakeTimeout: CONNECT_MS,
    })
    await new Promise<void>((resolve, reject) => {
      socket.once('open', resolve)
      // A socket that nothing listens on: the process that would start another browser is gone, too.
      socket.once('error', (error) => reject(new BrowserGone({ isForGood: codeOf(error) === 'ECONNREFUSED' })))
    })
    return new Cdp(socket)
  }

  /** Waits until the browser answers, because nobody uses it exclusively any more. Throws NoTurn after `ms`. */
  async turn(ms: number): Promise<void> {
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => late.reject(new NoTurn()), ms)
    try {
      await Promise.race([this.send('Browser.getVersion'), late.promise])
    } catch (error) {
      this.close()
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  /** Resolves when the browser is gone, or the connection is closed. */
  get closed(): Promise<BrowserGone> {
    return this.#closed.promise
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN
  }

  send<M extends keyof Commands>(
    method: M,
    ...[params]: Commands[M]['paramsType']
  ): Promise<Commands[M]['returnType']> {
    return this.#send(method, params)
  }

  on<E extends keyof Events>(event: E, listener: (...params: Events[E]) => void): void {
    this.#listen(event, listener as unknown as Listener)
  }

  session(sessionId: string): Session {
    return {
      send: (method, ...[params]) => this.#send(method, params, sessionId),
      on: (event, listener) => this.#listen(`${sessionId} ${event}`, listener as unknown as Listener),
      session: (id) => this.session(id),
    }
  }

  close(): void {
    this.#socket.terminate()
  }

  async #send<R>(method: string, params: unknown, sessionId?: string): Promise<R> {
    if (!this.isOpen) throw await this.closed // It may be about to exit: the reason is known when it has.
    const id = this.#next++
    const waiting = Promise.withResolvers<unknown>()
    this.#waiting.set(id, waiting)
    this.#socket.send(JSON.stringify({ id, method, params, sessionId }))
    return (await waiting.promise) as R
  }

  #listen(key: string, listener: Listener): void {
    this.#listeners.set(key, [...(this.#listeners.get(key) ?? []), listener])
  }

  #receive({ id, result, error, method, params, sessionId }: Answer): void {
    if (id === undefined) {
      const key = sessionId === undefined ? method : `${sessionId} ${method}`
      for (const listener of this.#listeners.get(key ?? '') ?? []) listener(params)
      return
    }
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (error && LEAVING.test(error.message)) waiting?.reject(new BrowserGone())
    else if (error) waiting?.reject(new AppError(`the browser refused: ${error.message}`))
    else waiting?.resolve(result)
  }
}
