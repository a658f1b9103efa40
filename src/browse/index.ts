// Visits of pages, for everything that takes captures of them. Each function loads its code on the first call: few
// processes need a browser, and most of those that request by HTTP never write a WARC.
import type { inTab as InTab } from './browser/in-tab.ts'
import type { openTab as OpenTab } from './browser/open-tab.ts'
import type { visitPage as VisitPage } from './browser/visit-page.ts'
import type { Answer } from './http/answer.ts'
import type { RequestContext } from './request-context.ts'
import type { Recording } from './warc/recording.ts'

/**
 * GETs `url`, by default the page itself, and follows redirects. An HTTP error status is an answer like any other.
 * Throws AppError with one plain line for every failure.
 *
 * The page itself is requested once: all who share a visit get the same answer, or the same failure, and together they
 * wait for it no longer than the most patient one would alone. The caller closes the body of any other answer.
 */
export async function fetchPage(context: RequestContext, url = context.url): Promise<Answer> {
  return await (await import('./http/fetch.ts')).fetchPage(context, url)
}

/**
 * Visits the page in a browser, and does something with it there. All who share a visit share its tab; a caller without
 * a visit gets its own. Traffic is recorded if the visit is. When the page's tab ends for the first time, both are
 * repeated once; also when the browser ends, and then with no other page in it: a page that ends it again harms no
 * others. Throws NoTurn when others left the page too little time: it is tried again later.
 */
export const inTab: typeof InTab = async (...given) => await (await import('./browser/in-tab.ts')).inTab(...given)

/**
 * Opens an empty tab in a browser, with the cookies, storage and headers of the persona that visits the page. It has
 * its own context (cookies, storage, cache), which ends with it. Throws BrowserGone, and NoTurn when others use the
 * browser exclusively for too long.
 */
export const openTab: typeof OpenTab = async (context, place) =>
  await (await import('./browser/open-tab.ts')).openTab(context, place)

/**
 * Navigates a tab to a page, once, and waits until that has settled: it is loaded, all of it was shown once, its fonts
 * are there and the network is quiet. It waits at most CHROME_SETTLE_TIMEOUT after the load, and `budgetMs` in all; the
 * page then counts as it is. Throws AppError with the reason when there is no page: network trouble, a download, a
 * crash, or no answer within the budget.
 */
export const visitPage: typeof VisitPage = async (...given) =>
  await (await import('./browser/visit-page.ts')).visitPage(...given)

/**
 * The recording of all that a visit receives, by HTTP and in its tab, for a WARC; undefined: the visit is not recorded
 * (`Visit.recordInto`).
 */
export async function record(context: Pick<RequestContext, 'visit' | 'env'>): Promise<Recording | undefined> {
  return (await import('./warc/recording-of.ts')).recordingOf(context)
}
