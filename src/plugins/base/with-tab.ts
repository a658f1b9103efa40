import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { timeoutSeconds } from '../../base/env-settings.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { NoTurn } from '../../browse/browser/cdp.ts'
import { emptySecretFields } from '../../browse/browser/empty-fields.ts'
import { NO_BROWSER_FOUND } from '../../browse/browser/find-browser.ts'
import type { VisitedTab } from '../../browse/browser/visit-page.ts'
import { inTab } from '../../browse/index.ts'
import type { HookContext, HookResult } from '../../hooks/contract.ts'
import { isDead } from './dead-page.ts'
import { lacking, later, noResults, skipped } from './hook.ts'
import { isShown } from './served-file.ts'
import { readSibling, siblingRan, staticFile } from './siblings.ts'

/** Holds the address of the crawl's browser, or the reason why there is none. */
export const ENDPOINT = 'cdp_url.txt'
export const NO_BROWSER = 'no-browser.txt'

/**
 * Does something with the page in the crawl's browser (`inTab`). The chrome hook reports why there is no page; for the
 * others that is a consequence.
 * @param takesFiles also for a file that staticfile has saved, if a browser shows it
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
  const limitMs = timeoutSeconds(context.env, 'CHROME') * 1000
  const place = { endpoint: () => noteOf(chrome, ENDPOINT), limitMs } // There is none when its launcher has exited.
  try {
    return await inTab(context, place, use)
  } catch (error) {
    if (!(error instanceof NoTurn)) throw error
    if (context.visit) context.visit.comesLater = true
    return later(error.message)
  }
}

/** The text of a note by the crawl's browser; undefined when there is none. */
export function noteOf(folder: string, name: string): string | undefined {
  try {
    return readFileSync(join(folder, name), 'utf8').trim()
  } catch {
    return undefined
  }
}

/**
 * Captures the visited page: `skipped` when the chrome hook's visit has failed, because that reports why. A capture of
 * a page with logins has nothing that fields hide.
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
      // Before each capture, since the page's scripts continue.
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

/** The same, also for a file, if a browser shows it. */
export const captureShown: typeof capture = (context, take) => capture(context, take, true)
