import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../../../base/errors.ts'
import { count, flag, text } from '../settings.ts'
import { BrowserGone, Cdp, type Session, TabCrashed } from './cdp.ts'
import { collectConsole } from './console.ts'
import { dismissDialogs } from './dialogs.ts'
import { languagesIn } from './languages.ts'
import { explainBrokenOff, explainNavigation } from './net-error.ts'
import { NetworkActivity, type Redirect } from './network-activity.ts'
import { BEFORE_SCRIPTS } from './page-scripts.ts'
import type { Dress, TabIds } from './persona.ts'
import { type Showing, showAll } from './show-all.ts'
import { stay } from './stay.ts'

type Env = Readonly<Record<string, string | undefined>>

/** The network is quiet when nothing was requested for so long. */
const QUIET_MS = 500
const LOOK_MS = 25
const CRASH_MS = 200
/** A browser that takes longer for an empty tab hangs. */
const OPEN_MS = 15_000
/** A page that does not answer a trivial question for so long is busy with itself. */
const ANSWER_MS = 5_000
/** How long it may take to end its script, on a busy machine. */
const INTERRUPT_MS = 15_000
/** Seconds that a loaded page may take to come to rest, when CHROME_SETTLE_TIMEOUT does not say otherwise. */
const SETTLE_SECONDS = 10
/** A page that leads on more often does so for ever: it stays where it is. */
const MOST_DOCUMENTS = 10

/** A hook's time is over by then. */
const TURN_MS = 60_000
const BUSY = 'the page keeps the browser busy and does not answer'

/** How the visit of a page went. */
export interface Visited {
  readonly url: string
  /** After all redirects, by servers and scripts. */
  readonly final_url: string
  readonly http_status: number | null
  readonly content_type: string
  readonly title: string
  readonly redirects: readonly Redirect[]
  readonly requests: number
  /** False: the page was still loading or changing when its time was over. */
  readonly settled: boolean
  /** Why the page is there only as far as it came; null: it is whole. */
  readonly broken_off: string | null
  /** Selectors of consent banners and the like that are not seen in pictures, PDF and single file. */
  readonly hidden_overlays: readonly string[]
  readonly ms: number
}

/** A tab with a context (cookies, storage, cache) of its own, which ends with it, or with the connection. */
export class Tab {
  readonly session: Session
  readonly console: ReturnType<typeof collectConsole>
  /** Rejects when the tab crashes or its browser ends. */
  readonly #lost = Promise.withResolvers<never>()
  readonly #cdp: Cdp
  readonly #ids: TabIds
  readonly #network: NetworkActivity
  /** How many documents the tab has shown, and whether the last one is loaded. */
  #documents = 0
  #isLoaded = false
  #shown: { readonly url: string; readonly unreachableUrl?: string } = { url: 'about:blank' }
  #hidden: readonly string[] = []
  #stuck = false
  #staying: Promise<void> | undefined

  private constructor(cdp: Cdp, ids: TabIds) {
    this.#cdp = cdp
    this.#ids = ids
    this.session = cdp.session(ids.session)
    this.#network = new NetworkActivity(this.session, ids.target) // The main frame has the id of its target.
    this.console = collectConsole(this.session)
    this.#lost.promise.catch(() => {})
    void cdp.closed.then((gone) => this.#lost.reject(gone))
    this.session.on('Inspector.targetCrashed', (said?: { readonly why?: string }) =>
      this.#lost.reject(new TabCrashed(said?.why)),
    )
    this.session.on('Page.frameNavigated', ({ frame }) => {
      if (frame.parentId !== undefined) return
      if (++this.#documents === MOST_DOCUMENTS) this.#stay().catch(() => {})
      this.#isLoaded = false
      this.#shown = frame
    })
    this.session.on('Page.navigatedWithinDocument', ({ frameId, url }) => {
      if (frameId === ids.target) this.#shown = { url }
    })
    this.session.on('Page.loadEventFired', () => {
      this.#isLoaded = true
    })
    // A page that leads to another program while it loads has no load event. The empty tab stops loading, too.
    this.session.on('Page.frameStoppedLoading', ({ frameId }) => {
      if (frameId === ids.target && this.#documents > 0) this.#isLoaded = true
    })
    dismissDialogs(this.session)
  }

  /**
   * Opens an empty tab in the browser at `endpoint`. Throws BrowserGone, also when that does not answer in time, and
   * NoTurn when others have it for themselves for longer than `turnMs`.
   */
  static async open(endpoint: string, env: Env, dress: Dress, turnMs = TURN_MS): Promise<Tab> {
    const cdp = await Cdp.connect(endpoint)
    await cdp.turn(turnMs)
    const late = setTimeout(() => cdp.close(), OPEN_MS) // What is under way then fails with BrowserGone.
    try {
      const { browserContextId: context } = await cdp.send('Target.createBrowserContext', { disposeOnDetach: true })
      await cdp.send('Browser.setDownloadBehavior', { behavior: 'deny', browserContextId: context })
      const { targetId: target } = await cdp.send('Target.createTarget', {
        url: 'about:blank',
        browserContextId: context,
        newWindow: true, // Screenshots of tabs that share a window hang now and then.
      })
      const { sessionId: session } = await cdp.send('Target.attachToTarget', { targetId: target, flatten: true })
      const tab = new Tab(cdp, { context, session, target })
      await tab.#prepare(env)
      await dress(cdp, { context, session, target })
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
    if (!width || !height) throw new AppError('CHROME_RESOLUTION is not WIDTH,HEIGHT')
    const languages = languagesIn(env['CHROME_LANGUAGE'])
    const { userAgent } = await this.#cdp.send('Browser.getVersion')
    await Promise.all([
      send('Page.enable'),
      send('Runtime.enable'),
      send('Log.enable'),
      send('Inspector.enable'),
      send('Page.addScriptToEvaluateOnNewDocument', { source: BEFORE_SCRIPTS }),
      send('Network.enable', { maxTotalBufferSize: 0, maxResourceBufferSize: 0 }),
      send('Network.setBypassServiceWorker', { bypass: true }),
      send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false }),
      send('Emulation.setUserAgentOverride', {
        userAgent: text(env, 'CHROME_USER_AGENT') ?? userAgent.replace('HeadlessChrome', 'Chrome'),
        ...(languages.length > 0 && { acceptLanguage: languages.join(',') }),
      }),
    ])
  }

  /**
   * Goes to a page, once, and waits until it is at rest: loaded, all of it shown once, its fonts there and the network
   * quiet; at most CHROME_SETTLE_TIMEOUT after it has loaded, and `budgetMs` in all. What is there by then counts.
   * Throws AppError with the reason when there is no page: network trouble, a download, a crash, or no answer within
   * the budget.
   * @param isLoggedIn the page may be seen with somebody's rights, so nothing in it is pressed
   */
  async visit(url: string, env: Env, budgetMs: number, isLoggedIn: boolean): Promise<Visited> {
    const began = performance.now()
    const left = () => Math.max(0, began + budgetMs - performance.now())
    const answer = await this.within(this.session.send('Page.navigate', { url }), left())
    if (answer === undefined) throw new AppError(`timed out after ${Math.round(budgetMs / 1000)} s`)
    if (answer.isDownload || answer.errorText === 'net::ERR_ABORTED') {
      await this.within(sleep(CRASH_MS), CRASH_MS) // A crash aborts it, too, and is told a moment later.
      throw new AppError('a download, not a page')
    }
    if (answer.errorText !== undefined) throw explainNavigation(answer.errorText, url)
    const loaded = await this.#loaded(left())
    const settleMs = Math.min(left(), count(env, 'CHROME_SETTLE_TIMEOUT', SETTLE_SECONDS) * 1000)
    const showing = { hides: flag(env, 'CHROME_HIDE_OVERLAYS', true), presses: !isLoggedIn }
    const settled = loaded && (await this.#settle(settleMs, showing))
    await this.within(this.#stay(), ANSWER_MS)
    // Another document that is on its way has come, or does not come any more.
    if (!settled && this.#documents > 1) await this.#loaded(ANSWER_MS)
    // A page that goes on loading has no picture.
    if (!settled) await this.#answers('Page.stopLoading', ANSWER_MS)
    if (!(await this.#answers())) await this.#interrupt()
    const title = await this.within(this.session.send('Runtime.evaluate', { expression: 'document.title' }), ANSWER_MS)
    if (!title) throw new AppError(BUSY)
    const frame = this.#shown
    // The page has led to where nobody answers: what is shown is the browser's own page.
    if (frame.unreachableUrl || frame.url.startsWith('chrome-error:')) {
      const { failure } = this.#network
      throw explainNavigation(failure?.errorText ?? 'FAILED', failure?.url ?? frame.unreachableUrl ?? url)
    }
    const { answer: main, brokenOff } = this.#network
    return {
      url,
      final_url: frame.url,
      http_status: main?.status || null,
      content_type: main?.type ?? '',
      title: String(title?.result.value ?? ''),
      redirects: this.#network.redirects,
      requests: this.#network.requests,
      settled,
      broken_off: brokenOff === undefined ? null : explainBrokenOff(brokenOff, frame.url),
      hidden_overlays: this.#hidden,
      ms: Math.round(performance.now() - began),
    }
  }

  /** The value of an expression in the page, which may be a promise. Throws AppError with the page's own error. */
  async evaluate<T>(expression: string): Promise<T> {
    const { result, exceptionDetails: trouble } = await this.send('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    })
    if (trouble) throw new AppError(`the page's script failed: ${trouble.exception?.description ?? trouble.text}`)
    return result.value as T
  }

  /** Sends a command, and fails at once when the tab is lost or the page does not answer any more. */
  readonly send: Session['send'] = async (method, ...params) => {
    if (this.#stuck) throw new AppError(BUSY)
    return await Promise.race([this.session.send(method, ...params), this.#lost.promise])
  }

  /** Where a file came from that the page requested at `url`. */
  locationOf(url: string): string {
    return this.#network.locationOf(url)
  }

  /** Nothing can be had from this page any more. */
  giveUp(): void {
    this.#stuck = true
  }

  async close(): Promise<void> {
    const disposed = this.#cdp.send('Target.disposeBrowserContext', { browserContextId: this.#ids.context })
    await this.within(disposed, ANSWER_MS).catch(() => {})
    this.#cdp.close()
  }

  /** What a promise yields; undefined: not within so many milliseconds. Throws when the tab is lost. */
  async within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
    const over = new AbortController()
    const late = sleep(ms, undefined, { signal: over.signal }).catch(() => undefined)
    promise.catch(() => {}) // It may fail after its time.
    return await Promise.race([promise, late, this.#lost.promise]).finally(() => over.abort())
  }

  /** From now on it shows the document that is there, so that all that is taken of it is of one. */
  #stay(): Promise<void> {
    this.#staying ??= stay(this.#cdp, this.#ids.target)
    return this.#staying
  }

  /** Waits until the document is loaded that is shown by then; false: not within `ms`. */
  async #loaded(ms: number): Promise<boolean> {
    for (const until = performance.now() + ms; !this.#isLoaded && performance.now() < until; )
      await this.within(sleep(LOOK_MS), LOOK_MS * 2)
    return this.#isLoaded
  }

  /**
   * Has the page show all that it has, and waits until the network is quiet. When the page leads to another one
   * meanwhile, the same again with that.
   */
  async #settle(ms: number, showing: Showing): Promise<boolean> {
    const until = performance.now() + ms
    const left = () => Math.max(0, until - performance.now())
    while (left() > 0 && (await this.#loaded(left()))) {
      const document = this.#documents
      const shown = showAll(this.session, left() / 2, showing).then(
        (hidden) => {
          this.#hidden = hidden
          return true
        },
        (error: unknown) => {
          if (error instanceof BrowserGone) throw error
          return false // Its document is gone, or will be in a moment.
        },
      )
      const isThere = await this.within(shown, left())
      if (isThere === undefined) return false
      if (!isThere) await this.within(sleep(LOOK_MS), LOOK_MS * 2)
      while (isThere && this.#documents === document && left() > 0) {
        if (this.#network.quietMs >= QUIET_MS) return true
        await this.within(sleep(LOOK_MS), LOOK_MS * 2)
      }
    }
    return false
  }

  /**
   * Asks, by default, for what the page's own thread must answer: scripts can be evaluated in the midst of another one.
   * While one document gives way to the next the browser refuses, and is asked again.
   */
  async #answers(
    method: 'Page.getLayoutMetrics' | 'Page.stopLoading' = 'Page.getLayoutMetrics',
    ms = ANSWER_MS,
  ): Promise<boolean> {
    for (const until = performance.now() + ms; performance.now() < until; ) {
      const asked = this.session.send(method).then(
        () => true,
        (error: unknown) => {
          if (error instanceof BrowserGone) throw error
          return false
        },
      )
      if (await this.within(asked, until - performance.now())) return true
      await this.within(sleep(LOOK_MS), LOOK_MS * 2)
    }
    return false
  }

  /** Ends the script that keeps a page busy, and its loading. */
  async #interrupt(): Promise<void> {
    await this.within(this.session.send('Runtime.terminateExecution'), INTERRUPT_MS)
    await this.#answers('Page.stopLoading', INTERRUPT_MS)
    if (!(await this.#answers())) this.giveUp()
  }
}
