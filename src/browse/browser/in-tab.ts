import { messageOf } from '../../base/errors.ts'
import { hasLogins } from '../persona/credentials.ts'
import { credentialsFor } from '../persona/credentials-for.ts'
import { headerNames } from '../persona/headers.ts'
import { recordingOf } from '../warc/recording-of.ts'
import { BrowserGone, NoTurn, TabCrashed } from './cdp.ts'
import { openTab, type TabContext } from './open-tab.ts'
import { recordTraffic } from './traffic.ts'
import { type VisitedTab, visitPage } from './visit-page.ts'

type PageContext = TabContext & { readonly url: string }

/** A browser, and how long a visit in it may take. */
export interface BrowserPlace {
  /** The address of the browser; undefined: nothing starts one any more. */
  endpoint(): string | undefined
  readonly limitMs: number
}

/** The part of a time limit that a visit may use: the rest is for captures. */
const SHARE = 0.8
/** The part of a time limit for which others may have exclusive use of the browser. */
const TURN_SHARE = 0.5
/**
 * The part of a time limit after which a visit is over, however long it has waited for the browser: the hook's own time
 * ends soon after.
 */
const VISIT_SHARE = 0.9
/** A hook that has waited for a larger part of its time than this, and cannot finish in the rest, runs again later. */
const WAIT_SHARE = 0.3
/** A page that crashes its tab this often yields nothing more. */
const MOST_CRASHES = 4

/** See `../index.ts`. */
export async function inTab<T>(
  context: PageContext,
  place: BrowserPlace,
  use: (page: VisitedTab) => Promise<T>,
): Promise<T> {
  const { signal, visit } = context
  const crashed = visit ?? { crashes: 0 }
  const over = { browser: false, tab: crashed.crashes > 0 }
  for (let alone = visit?.wasAlone === true; ; ) {
    try {
      return await once(context, place, alone, use)
    } catch (error) {
      const gone = error instanceof BrowserGone && !error.isForGood ? error : undefined
      const ended = gone ? 'browser' : 'tab'
      if (!gone && !(error instanceof TabCrashed)) throw error
      if (!gone) crashed.crashes++
      // The crash may be due to this hook: the next one gets another tab.
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

const wasVisited = async (visit: TabContext['visit']): Promise<boolean> =>
  (await visit?.tab?.then(
    () => true,
    () => false,
  )) ?? false

async function forgetTab(visit: TabContext['visit']): Promise<void> {
  const before = visit?.tab
  if (visit) visit.tab = undefined
  if (before) await close(before) // The next visit would wait while this one keeps its turn.
}

const close = (opening: Promise<VisitedTab>) => opening.then(({ tab }) => tab.close()).catch(() => {})

async function once<T>(
  context: PageContext,
  place: BrowserPlace,
  isAlone: boolean,
  use: (page: VisitedTab) => Promise<T>,
): Promise<T> {
  const { visit, signal } = context
  const begin = () => {
    const opening = open(context, place, isAlone)
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

async function open(context: PageContext, { endpoint, limitMs }: BrowserPlace, isAlone: boolean): Promise<VisitedTab> {
  const asked = performance.now()
  const tab = await openTab(context, { endpoint, isAlone, turnMs: limitMs * TURN_SHARE })
  const waitedMs = performance.now() - asked
  const budgetMs = Math.min(limitMs * SHARE, limitMs * VISIT_SHARE - waitedMs)
  const began = performance.now()
  try {
    const recording = recordingOf(context)
    const credentials = await credentialsFor(context)
    if (recording) await recordTraffic(tab, recording, headerNames(credentials.headers))
    const isPrivate = hasLogins(credentials)
    const visited = await visitPage(tab, context.url, context.env, budgetMs, isPrivate).finally(() => {
      const isCut = waitedMs > limitMs * WAIT_SHARE && performance.now() - began >= budgetMs
      if (isCut) throw new NoTurn('too little time was left after the wait for the browser')
    })
    return { tab, visited, isPrivate }
  } catch (error) {
    await tab.close()
    throw error
  }
}
