import { setTimeout as sleep } from 'node:timers/promises'
import { text } from '../../base/env-settings.ts'
import { AppError } from '../../base/errors.ts'
import { AddressFilter } from '../network/address-filter.ts'
import { AnswerRefused, Cdp, type Session, TabCrashed } from './cdp.ts'
import { type ConsoleLog, collectConsole } from './console.ts'
import { dismissDialogs } from './dialogs.ts'
import { inPage } from './in-page.ts'
import { ATTACH, ATTACH_SHARED, InnerTargets } from './inner-targets.ts'
import { languagesIn } from './languages.ts'
import { MainDocument } from './main-document.ts'
import { NetworkActivity } from './network-activity.ts'
import type { TabIds, TabSetup } from './tab-setup.ts'

type Env = Readonly<Record<string, string | undefined>>

/** A browser that takes longer for an empty tab hangs. */
const OPEN_MS = 15_000
/** A page that does not answer a trivial command for this long is busy. */
export const ANSWER_MS = 5_000
/** A hook's time is over by then. */
const TURN_MS = 60_000
export const BUSY = 'the page keeps the browser busy and does not answer'

/** A tab with its own context (cookies, storage, cache), which ends with it, or with the connection. */
export class Tab {
  readonly session: Session
  readonly console: ConsoleLog = { lines: [], dropped: 0 }
  readonly network: NetworkActivity
  readonly document: MainDocument
  readonly filter: AddressFilter
  /** The parts of the page that have their own sessions. */
  readonly inner: InnerTargets
  /** Rejects when the tab crashes, its browser ends, or it has received an answer from a forbidden address. */
  readonly #lost = Promise.withResolvers<never>()
  readonly #cdp: Cdp
  readonly #ids: TabIds
  #stuck = false

  private constructor(cdp: Cdp, ids: TabIds, filter: AddressFilter) {
    this.#cdp = cdp
    this.#ids = ids
    this.session = cdp.session(ids.session)
    this.filter = filter
    this.network = new NetworkActivity(this.session, ids.target) // The main frame has the id of its target.
    this.document = new MainDocument(cdp, this.session, ids.target)
    collectConsole(this.session, this.console)
    this.#lost.promise.catch(() => {})
    void cdp.closed.then((gone) => this.#lost.reject(gone))
    this.session.on('Inspector.targetCrashed', (said?: { readonly why?: string }) =>
      this.#lost.reject(new TabCrashed(said?.why)),
    )
    dismissDialogs(this.session)
    this.#watch(this.session)
    this.inner = new InnerTargets(this.session, cdp, ids.context)
    this.inner.prepare(async ({ session, kind }) => {
      this.#watch(session)
      if (kind !== 'frame') return
      this.network.hear(session)
      collectConsole(session, this.console)
      const enabled = (['Page.enable', 'Runtime.enable', 'Log.enable'] as const).map((method) => session.send(method))
      await Promise.all([...enabled, beforeScripts(session)])
    })
    this.inner.onLeave((session) => this.network.forget(session))
  }

  /**
   * Takes nothing more from a page, and ends it, when it has received an answer from an address that the filter
   * refuses.
   */
  #watch(session: Session): void {
    const look = ({ url, remoteIPAddress }: { readonly url: string; readonly remoteIPAddress?: string }) => {
      const refusal = remoteIPAddress ? this.filter.refusalOfAnswer(url, remoteIPAddress) : undefined
      if (refusal === undefined) return
      this.#lost.reject(new AnswerRefused(refusal))
      this.#cdp.send('Target.closeTarget', { targetId: this.#ids.target }).catch(() => {}) // Its end is not reported.
    }
    session.on('Network.responseReceived', ({ response }) => look(response))
    session.on('Network.requestWillBeSent', ({ redirectResponse }) => redirectResponse && look(redirectResponse))
  }

  /**
   * Opens an empty tab in the browser at `endpoint`. Throws BrowserGone, also when it does not answer in time, and
   * NoTurn when others use it exclusively for longer than `turnMs`.
   */
  static async open(endpoint: string, env: Env, setUp: TabSetup, turnMs = TURN_MS): Promise<Tab> {
    const cdp = await Cdp.connect(endpoint)
    await cdp.turn(turnMs)
    const late = setTimeout(() => cdp.close(), OPEN_MS) // Pending commands then fail with BrowserGone.
    try {
      const { browserContextId: context } = await cdp.send('Target.createBrowserContext', { disposeOnDetach: true })
      await cdp.send('Browser.setDownloadBehavior', { behavior: 'deny', browserContextId: context })
      const { targetId: target } = await cdp.send('Target.createTarget', {
        url: 'about:blank',
        browserContextId: context,
        newWindow: true, // Screenshots of tabs that share a window sometimes hang.
      })
      const { sessionId: session } = await cdp.send('Target.attachToTarget', { targetId: target, flatten: true })
      const tab = new Tab(cdp, { context, session, target }, AddressFilter.from(env))
      await tab.#prepare(env)
      await setUp(cdp, { context, session, target }, tab.inner)
      return tab
    } catch (error) {
      cdp.close()
      throw error
    } finally {
      clearTimeout(late)
    }
  }

  async #prepare(env: Env): Promise<void> {
    const { send } = this.session
    const [width, height] = (text(env, 'CHROME_RESOLUTION') ?? '1440,2000').split(',').map(Number)
    if (!width || !height) throw new AppError('CHROME_RESOLUTION must be WIDTH,HEIGHT')
    const languages = languagesIn(env['CHROME_LANGUAGE'])
    const { userAgent } = await this.#cdp.send('Browser.getVersion')
    const visitor = {
      userAgent: text(env, 'CHROME_USER_AGENT') ?? userAgent.replace('HeadlessChrome', 'Chrome'),
      ...(languages.length > 0 && { acceptLanguage: languages.join(',') }),
    }
    this.inner.prepare(async ({ session, kind }) => {
      if (kind === 'frame') await session.send('Emulation.setUserAgentOverride', visitor)
    })
    await Promise.all([
      send('Page.enable'),
      send('Runtime.enable'),
      send('Log.enable'),
      send('Inspector.enable'),
      beforeScripts(this.session),
      send('Network.enable', { maxTotalBufferSize: 0, maxResourceBufferSize: 0 }),
      send('Target.setAutoAttach', ATTACH),
      this.#cdp.send('Target.setAutoAttach', ATTACH_SHARED),
      send('Network.setBypassServiceWorker', { bypass: true }),
      send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false }),
      send('Emulation.setUserAgentOverride', visitor),
    ])
  }

  /** Evaluates an expression, which may be a promise, in the page. Throws AppError with the page's own error. */
  async evaluate<T>(expression: string): Promise<T> {
    const { result, exceptionDetails: trouble } = await this.send('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    })
    if (trouble) throw new AppError(`the page's script failed: ${trouble.exception?.description ?? trouble.text}`)
    return result.value as T
  }

  /** Sends a command, and fails at once when the tab is lost or the page no longer answers. */
  readonly send: Session['send'] = async (method, ...params) => {
    if (this.#stuck) throw new AppError(BUSY)
    return await Promise.race([this.session.send(method, ...params), this.#lost.promise])
  }

  /** Nothing more can be taken from this page. */
  giveUp(): void {
    this.#stuck = true
  }

  async close(): Promise<void> {
    const disposed = this.#cdp.send('Target.disposeBrowserContext', { browserContextId: this.#ids.context })
    await this.within(disposed, ANSWER_MS).catch(() => {})
    this.#cdp.close()
  }

  /** Waits for a promise at most so many milliseconds; undefined: it took longer. Throws when the tab is lost. */
  async within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
    const over = new AbortController()
    const late = sleep(ms, undefined, { signal: over.signal }).catch(() => undefined)
    promise.catch(() => {}) // It may reject after the time limit.
    return await Promise.race([promise, late, this.#lost.promise]).finally(() => over.abort())
  }
}

const beforeScripts = ({ send }: Session) =>
  send('Page.addScriptToEvaluateOnNewDocument', { source: inPage('before-scripts') })
