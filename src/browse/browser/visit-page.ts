import { setTimeout as sleep } from 'node:timers/promises'
import { count, flag } from '../../base/env-settings.ts'
import { AppError } from '../../base/errors.ts'
import { unlessGone } from './cdp.ts'
import { explainBrokenOff, explainNavigation } from './net-error.ts'
import type { Redirect } from './network-activity.ts'
import { type Showing, showAll } from './show-all.ts'
import { ANSWER_MS, BUSY, type Tab } from './tab.ts'

/** The network is quiet when nothing was requested for this long. */
const QUIET_MS = 500
const LOOK_MS = 25
/** A feed that grows by less is no feed. */
const GROWN_SCREENS = 0.5
/** The part of the time to settle in which nothing more is shown of a feed: it comes to rest. */
const LAST_SHARE = 0.25
const CRASH_MS = 200
/** How long a page may take to stop its script, on a busy machine. */
const INTERRUPT_MS = 15_000
/** Seconds that a loaded page may take to settle, unless CHROME_SETTLE_TIMEOUT is set. */
const SETTLE_SECONDS = 10

/** The outcome of a visit. */
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
  /** Why the page is incomplete; null: it is complete. */
  readonly broken_off: string | null
  /** Selectors of the consent banners and other overlays that are hidden in pictures, PDF and single file. */
  readonly hidden_overlays: readonly string[]
  readonly ms: number
}

/** A visited page. */
export interface VisitedTab {
  readonly tab: Tab
  readonly visited: Visited
  /** Whether it was visited with logins. */
  readonly isPrivate: boolean
}

/**
 * Navigates a tab to a page, once, and waits until that has settled: it is loaded, all of it was shown once, its fonts
 * are there and the network is quiet. It waits at most CHROME_SETTLE_TIMEOUT after the load, and `budgetMs` in all; the
 * page then counts as it is. Throws AppError with the reason when there is no page: network trouble, a download, a
 * crash, or no answer within the budget.
 * @param isLoggedIn whether the page may be visited with logins, so that no button is pressed
 */
export async function visitPage(
  tab: Tab,
  url: string,
  env: Readonly<Record<string, string | undefined>>,
  budgetMs: number,
  isLoggedIn: boolean,
): Promise<Visited> {
  const { document, network } = tab
  const began = performance.now()
  const left = () => Math.max(0, began + budgetMs - performance.now())
  const refusal = tab.filter.refusalOf(url)
  if (refusal !== undefined) throw new AppError(refusal)
  const explained = (code: string, at: string) => {
    const why = URL.canParse(at) ? tab.filter.refusalOf(at) : undefined
    return why === undefined ? explainNavigation(code, at) : new AppError(why)
  }
  const answer = await tab.within(tab.session.send('Page.navigate', { url }), left())
  if (answer === undefined) throw new AppError(`timed out after ${Math.round(budgetMs / 1000)} s`)
  if (answer.isDownload || answer.errorText === 'net::ERR_ABORTED') {
    await pause(tab, CRASH_MS) // A crash aborts it, too, and is reported a moment later.
    throw new AppError('a download, not a page')
  }
  if (answer.errorText !== undefined)
    throw explained(answer.errorText, network.failure?.url ?? network.redirects.at(-1)?.to ?? url)
  const isLoaded = await loaded(tab, left())
  const settleMs = Math.min(left(), count(env, 'CHROME_SETTLE_TIMEOUT', SETTLE_SECONDS) * 1000)
  const showing = { hides: flag(env, 'CHROME_HIDE_OVERLAYS', true), presses: !isLoggedIn }
  let hidden: readonly string[] = []
  const settled =
    isLoaded &&
    (await settle(tab, settleMs, showing, (selectors) => {
      hidden = selectors
    }))
  await tab.within(document.stay(), ANSWER_MS)
  // Another document that was on its way has arrived by then, or never will.
  if (!settled && document.number > 1) await loaded(tab, ANSWER_MS)
  // A page that goes on loading cannot be captured.
  if (!settled) await answers(tab, 'Page.stopLoading')
  if (!(await answers(tab, 'Page.getLayoutMetrics'))) await interrupt(tab)
  const title = await tab.within(tab.session.send('Runtime.evaluate', { expression: 'document.title' }), ANSWER_MS)
  if (!title) throw new AppError(BUSY)
  const { url: finalUrl, unreachableUrl } = document.shown
  // The page navigated to a host that does not answer: the browser shows its own error page.
  if (unreachableUrl || finalUrl.startsWith('chrome-error:')) {
    const { failure } = network
    throw explained(failure?.errorText ?? 'FAILED', failure?.url ?? unreachableUrl ?? url)
  }
  const { answer: main, brokenOff } = network
  return {
    url,
    final_url: finalUrl,
    http_status: main?.status || null,
    content_type: main?.type ?? '',
    title: String(title.result.value ?? ''),
    redirects: network.redirects,
    requests: network.requests,
    settled,
    broken_off: brokenOff === undefined ? null : explainBrokenOff(brokenOff, finalUrl),
    hidden_overlays: hidden,
    ms: Math.round(performance.now() - began),
  }
}

/** Throws when the tab is lost meanwhile. */
async function pause(tab: Tab, ms = LOOK_MS): Promise<void> {
  await tab.within(sleep(ms), ms)
}

/** Waits until the document that is then shown has loaded; false: not within `ms`. */
async function loaded(tab: Tab, ms: number): Promise<boolean> {
  for (const until = performance.now() + ms; !tab.document.isLoaded && performance.now() < until; ) await pause(tab)
  return tab.document.isLoaded
}

/**
 * Makes the page show all that it has, and waits until the network is quiet. A feed whose answer came late is shown on
 * from where it ended, while there is a quarter of the time left. If the page navigates meanwhile, does the same for
 * the next document.
 * @param onHidden is called with the overlays that were hidden in the present document
 */
async function settle(
  tab: Tab,
  ms: number,
  showing: Showing,
  onHidden: (selectors: readonly string[]) => void,
): Promise<boolean> {
  const { document, network } = tab
  const until = performance.now() + ms
  const left = () => Math.max(0, until - performance.now())
  for (let { number } = document, height = 0; left() > 0 && (await loaded(tab, left())); ) {
    if (document.number !== number) height = 0 // What was shown before this round, in pixels from the top.
    number = document.number
    const shown = await tab.within(showAll(tab, left() / 2, showing, height).catch(unlessGone), left())
    if (shown) onHidden(shown.hidden)
    else await pause(tab) // Its document is gone, or will be in a moment.
    while (shown && document.number === number && left() > 0) {
      if (network.quietMs < QUIET_MS) await pause(tab)
      else if (left() < ms * LAST_SHARE || shown.height <= height || !(await hasGrown(tab, shown.height))) return true
      else break
    }
    height = shown?.height ?? 0
  }
  return false
}

/** Whether a page has more to show below than when its end was reached. */
async function hasGrown(tab: Tab, shown: number): Promise<boolean> {
  const metrics = await tab.within(tab.session.send('Page.getLayoutMetrics').catch(unlessGone), ANSWER_MS)
  if (!metrics) return false
  return metrics.cssContentSize.height > shown + metrics.cssLayoutViewport.clientHeight * GROWN_SCREENS
}

/**
 * Sends a command that the page's main thread must answer: scripts can be evaluated in the middle of another one. While
 * one document replaces another, the browser refuses, and the command is repeated.
 */
async function answers(
  tab: Tab,
  method: 'Page.getLayoutMetrics' | 'Page.stopLoading',
  ms = ANSWER_MS,
): Promise<boolean> {
  for (const until = performance.now() + ms; performance.now() < until; ) {
    const asked = tab.session.send(method).then(() => true, unlessGone)
    if (await tab.within(asked, until - performance.now())) return true
    await pause(tab)
  }
  return false
}

/** Stops the script that keeps a page busy, and its loading. */
async function interrupt(tab: Tab): Promise<void> {
  await tab.within(tab.session.send('Runtime.terminateExecution'), INTERRUPT_MS)
  await answers(tab, 'Page.stopLoading', INTERRUPT_MS)
  if (!(await answers(tab, 'Page.getLayoutMetrics'))) tab.giveUp()
}
