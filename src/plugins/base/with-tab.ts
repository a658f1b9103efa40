import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { timeoutSeconds } from '../../base/env-settings.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { BrowserGone, NoTurn, TabCrashed } from '../../browse/browser/cdp.ts'
import { emptySecretFields } from '../../browse/browser/empty-fields.ts'
import { NO_BROWSER_FOUND } from '../../browse/browser/find-browser.ts'
import { recordTraffic } from '../../browse/browser/traffic.ts'
import type { VisitedTab } from '../../browse/browser/visit-page.ts'
import { openTab, record, visitPage } from '../../browse/index.ts'
import { hasLogins } from '../../browse/persona/credentials.ts'
import { credentialsFor } from '../../browse/persona/credentials-for.ts'
import { headerNames } from '../../browse/persona/headers.ts'
import type { HookContext, HookResult } from '../../hooks/contract.ts'
import { isDead } from './dead-page.ts'
import { lacking, later, noResults, skipped } from './hook.ts'
import { isShown } from './shown-file.ts'
import { readSibling, siblingRan, staticFile } from './siblings.ts'

/** The crawl's browser says here how it is reached, or why there is none. */
export const ENDPOINT = 'cdp_url.txt'
export const NO_BROWSER = 'no-browser.txt'

/** The part of a time limit that a visit may use: the rest is for what is taken from the page. */
const SHARE = 0.8
/** The part of it for which others may have the browser to themselves. */
const TURN_SHARE = 0.5
/** By then a visit is over, however long it has waited for the browser: the hook's own time ends soon after. */
const VISIT_SHARE = 0.9
/** Who has waited for more of it than this, and could not come to an end in what was left, comes again later. */
const WAIT_SHARE = 0.3
/** Of a page that crashes its tab so often, nothing more is to be had. */
const MOST_CRASHES = 4

/**
 * Does something with the page in the crawl's browser. The hooks of a row share one visit; a hook that runs alone makes
 * one of its own. When the page's tab ends for the first time, both are done once more; also when the browser ends, and
 * then with no other page in it: whoever ends it then has ended it before, too, and does no harm to others. The chrome
 * hook says why there is no page; to the others that is a consequence.
 * @param takesFiles also of a file that staticfile has saved, where a browser shows it
 */
export async function withTab(
  context: HookContext,
  use: (page: VisitedTab) => Promise<HookResult>,
  takesFiles = false,
): Promise<HookResult> {
  const file = staticFile(context)
  const isSeen = file !== undefined && takesFiles && isShown(context, file)
  if (file !== undefined && !isSeen) return noResults(`not a page: staticfile/${file}`)
  if (file === undefined && isDead(context)) return lacking('html')
  const crawlDir = context.env['CRAWL_DIR']
  const chrome = crawlDir === undefined ? undefined : join(crawlDir, 'chrome')
  if (chrome === undefined || !existsSync(chrome)) return skipped(NO_BROWSER_FOUND)
  const none = noteOf(chrome, NO_BROWSER)
  if (none !== undefined) return skipped(none)
  const { signal, visit } = context
  const crashed = visit ?? { crashes: 0 }
  const over = { browser: false, tab: crashed.crashes > 0 }
  for (let alone = visit?.wasAlone === true; ; ) {
    try {
      return await once(context, chrome, alone, use)
    } catch (error) {
      if (error instanceof NoTurn) {
        if (visit) visit.comesLater = true
        return later(error.message)
      }
      const gone = error instanceof BrowserGone && !error.isForGood ? error : undefined
      const ended = gone ? 'browser' : 'tab'
      if (!gone && !(error instanceof TabCrashed)) throw error
      if (!gone) crashed.crashes++
      // What crashed it may be what this hook did: the next one has another tab.
      if (!gone && over.tab && crashed.crashes < MOST_CRASHES && (await wasVisited(visit))) await forgetTab(visit)
      if (over[ended] || signal.aborted || (gone?.isOwnEnd && visit?.wasAlone)) throw error
      over[ended] = true
      alone ||= gone?.isOwnEnd === true
      if (alone && visit) visit.wasAlone = true
      context.log(`${messageOf(error)}; the page is visited again`)
      await forgetTab(visit)
    }
  }
}

const wasVisited = async (visit: HookContext['visit']): Promise<boolean> =>
  (await visit?.tab?.then(
    () => true,
    () => false,
  )) ?? false

async function forgetTab(visit: HookContext['visit']): Promise<void> {
  const before = visit?.tab
  if (visit) visit.tab = undefined
  if (before) await close(before) // As long as it had its turn, the next one would wait for that.
}

const close = (opening: Promise<VisitedTab>) => opening.then(({ tab }) => tab.close()).catch(() => {})

async function once(
  context: HookContext,
  chrome: string,
  isAlone: boolean,
  use: (page: VisitedTab) => Promise<HookResult>,
): Promise<HookResult> {
  const { visit, signal } = context
  const begin = () => {
    const opening = open(context, chrome, isAlone)
    visit?.onClose(() => close(opening))
    return opening
  }
  const opening = visit?.tab ?? begin()
  if (visit) visit.tab = opening
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([opening.then(use), aborted.promise])
  } catch (error) {
    // The next hook need not wait as long.
    if (signal.aborted) void opening.then(({ tab }) => tab.giveUp()).catch(() => {})
    throw error
  } finally {
    signal.removeEventListener('abort', abort)
    if (!visit && !signal.aborted) await close(opening)
  }
}

async function open(context: HookContext, chrome: string, isAlone: boolean): Promise<VisitedTab> {
  const wholeMs = timeoutSeconds(context.env, 'CHROME') * 1000
  const asked = performance.now()
  const endpoint = () => noteOf(chrome, ENDPOINT) // There is none when its launcher has left.
  const tab = await openTab(context, { endpoint, isAlone, turnMs: wholeMs * TURN_SHARE })
  const waitedMs = performance.now() - asked
  const budgetMs = Math.min(wholeMs * SHARE, wholeMs * VISIT_SHARE - waitedMs)
  const began = performance.now()
  try {
    const recording = await record(context)
    const credentials = await credentialsFor(context)
    if (recording) await recordTraffic(tab, recording, headerNames(credentials.headers))
    const isPrivate = hasLogins(credentials)
    const visited = await visitPage(tab, context.url, context.env, budgetMs, isPrivate).finally(() => {
      const isCut = waitedMs > wholeMs * WAIT_SHARE && performance.now() - began >= budgetMs
      if (isCut) throw new NoTurn('the wait for the browser left too little time')
    })
    return { tab, visited, isPrivate }
  } catch (error) {
    await tab.close()
    throw error
  }
}

/** What a note of the crawl's browser says; undefined when there is none. */
export function noteOf(folder: string, name: string): string | undefined {
  try {
    return readFileSync(join(folder, name), 'utf8').trim()
  } catch {
    return undefined
  }
}

/**
 * A capture of the visited page: `skipped` when the chrome hook's visit has failed, because that says why. Of what
 * somebody with logins sees it has nothing that fields hide.
 */
export async function capture(
  context: HookContext,
  take: (page: VisitedTab) => Promise<HookResult>,
  takesFiles = false,
): Promise<HookResult> {
  let reached = false
  try {
    const use = async (page: VisitedTab) => {
      reached = true
      const { http_status: status } = page.visited
      if (status !== null && status >= 400) return lacking('chrome')
      // Before each: the page's scripts go on.
      if (page.isPrivate) await emptySecretFields(page.tab)
      return await take(page)
    }
    return await withTab(context, use, takesFiles)
  } catch (error) {
    const isOwnVisit = !siblingRan(context, 'chrome') || readSibling(context, 'chrome/navigation.json') !== undefined
    if (reached || isOwnVisit || !context.visit || !(error instanceof AppError)) throw error
    context.log(messageOf(error))
    return lacking('chrome')
  }
}

/** The same of a file, too, where a browser shows it. */
export const captureShown: typeof capture = (context, take) => capture(context, take, true)
