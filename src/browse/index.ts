// Visits of pages, for whoever takes something from them. What each needs is loaded when it is first called: few
// processes need a browser, and most of those that ask by HTTP never write a WARC.
import type { inTab as InTab } from './browser/in-tab.ts'
import type { openTab as OpenTab } from './browser/open-tab.ts'
import type { visitPage as VisitPage } from './browser/visit-page.ts'
import type { Answer } from './http/answer.ts'
import type { RequestContext } from './request-context.ts'
import type { Recording } from './warc/recording.ts'

/**
 * The answer to a GET of `url`, which is the page itself if nothing else is said, after redirects. Throws AppError with
 * one plain line for every failure; an HTTP error status is an answer like any other.
 *
 * The page itself is asked for once: all who share a visit get the same answer, or the same failure, and together they
 * wait for it no longer than the most patient one would alone. The body of any other answer is the caller's to close.
 */
export async function fetchPage(context: RequestContext, url = context.url): Promise<Answer> {
  return await (await import('./http/fetch.ts')).fetchPage(context, url)
}

/**
 * Visits the page in a browser, and does something with it there. All who share a visit share its tab; who is alone has
 * one of its own. What is received is recorded where the visit is. When the page's tab ends for the first time, both
 * are done once more; also when the browser ends, and then with no other page in it: whoever ends it then has ended it
 * before, too, and does no harm to others. Throws NoTurn when others left the page too little time: it comes later.
 */
export const inTab: typeof InTab = async (...given) => await (await import('./browser/in-tab.ts')).inTab(...given)

/**
 * Opens an empty tab in a browser, with the cookies, storage and headers of the persona that visits the page. It has a
 * context of its own (cookies, storage, cache), which ends with it. Throws BrowserGone, and NoTurn when others have the
 * browser for themselves for too long.
 */
export const openTab: typeof OpenTab = async (context, place) =>
  await (await import('./browser/open-tab.ts')).openTab(context, place)

/**
 * Takes a tab to a page, once, and waits until that is at rest: loaded, all of it shown once, its fonts there and the
 * network quiet; at most CHROME_SETTLE_TIMEOUT after it has loaded, and `budgetMs` in all. What is there by then
 * counts. Throws AppError with the reason when there is no page: network trouble, a download, a crash, or no answer
 * within the budget.
 */
export const visitPage: typeof VisitPage = async (...given) =>
  await (await import('./browser/visit-page.ts')).visitPage(...given)

/**
 * The recording of all that a visit receives, by HTTP and in its tab, on its way into a WARC; undefined: the visit is
 * not recorded (`Visit.recordInto`).
 */
export async function record(context: Pick<RequestContext, 'visit' | 'env'>): Promise<Recording | undefined> {
  return (await import('./warc/recording-of.ts')).recordingOf(context)
}
