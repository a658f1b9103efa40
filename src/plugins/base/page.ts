import { sizeLimit } from '../../base/env-settings.ts'
import { AppError } from '../../base/errors.ts'
import { decodePage, encodingOf, UNDECLARED, withoutHalfCharacter } from '../../browse/html/charset.ts'
import type { Page } from '../../browse/html/page.ts'
import { type NotModified, statusLine } from '../../browse/http/answer.ts'
import { isHtml, looksLikeHtml, parseContentType } from '../../browse/http/content-type.ts'
import { fetchPage } from '../../browse/index.ts'
import type { HookContext, HookResult } from '../../hooks/contract.ts'
import { lacking, noResults } from './hook.ts'
import { comesLater, pageUrl, readSibling, shownUrl, siblingRan, staticFile, TRUNCATED_PAGE } from './siblings.ts'

const DEFAULT_MAX_SIZE = 50 * 1024 * 1024

/** A page as received over the network. */
export interface ServedPage {
  readonly url: string
  readonly bytes: Buffer
  readonly encoding: string
  /** For an error page: `HTTP 404 Not Found`. */
  readonly error?: string
  /** Why it is incomplete; undefined: it is complete. */
  readonly trouble?: string
  readonly notModified?: NotModified
}

/**
 * Requests the page (at most HTML_MAX_SIZE). Returns a `noresults` result when the answer is not a page. Throws
 * AppError for network trouble, and for an HTTP error without its own page.
 */
export async function servedPage(context: HookContext): Promise<ServedPage | HookResult> {
  const { isBlank, readBody } = await import('../../browse/http/body.ts')
  const answer = await fetchPage(context)
  const { mime, charset } = parseContentType(answer.headers['content-type'])
  const error = answer.status < 200 || answer.status > 299 ? statusLine(answer) : undefined
  if (mime !== '' && !isHtml(mime)) {
    if (error !== undefined) throw new AppError(error)
    return noResults(`not HTML but ${mime}`)
  }
  const limit = sizeLimit(context.env, 'HTML_MAX_SIZE', DEFAULT_MAX_SIZE)
  const { bytes: came, trouble } = await readBody(answer, limit, context.signal)
  if (trouble) await answer.body.leave(trouble)
  const bytes = trouble ? withoutHalfCharacter(came) : came
  const isNone = isBlank(bytes) || (mime === '' && !looksLikeHtml(bytes))
  if (isNone && error !== undefined) throw new AppError(error, { cause: trouble })
  if (isNone && trouble) throw trouble
  if (isBlank(bytes)) return noResults(`an empty answer (${statusLine(answer)})`)
  if (isNone) return noResults('not HTML (no content type)')
  const encoding = encodingOf(bytes, { charset, xml: mime === 'application/xhtml+xml' })
  return {
    url: answer.url,
    bytes,
    encoding,
    ...(error !== undefined && { error }),
    ...(trouble && { trouble: trouble.message }),
    ...(answer.notModified && { notModified: answer.notModified }),
  }
}

/**
 * The page for a plugin that reads it: as another plugin saved it, else from a request. Returns a result instead when
 * the URL is a file, and when the html hook has already failed, since one attempt is enough. Throws AppError for
 * network trouble and error pages.
 */
export async function loadPage(context: HookContext): Promise<Page | HookResult> {
  const file = staticFile(context)
  if (file !== undefined) return noResults(`not a page: staticfile/${file}`)
  // Without its scripts the served page may be empty, and a plugin that used it would not run again.
  if (comesLater(context, 'dom')) return lacking('dom')
  const saved = context.visit?.page === undefined ? savedPage(context) : context.visit.page
  if (context.visit) context.visit.page = saved ?? null
  if (saved) return saved
  if (siblingRan(context, 'html')) return lacking('html')
  const served = await servedPage(context)
  if ('status' in served) return served
  const wrong = served.error ?? served.trouble
  if (wrong !== undefined) throw new AppError(wrong)
  return { url: served.url, html: readable(served.bytes, served.encoding) }
}

/**
 * The page that another plugin saved, preferably after its scripts, otherwise as far as it was received. Within a row
 * it does not change after its first use.
 */
function savedPage(context: HookContext): Page | undefined {
  const shown = readSibling(context, 'dom/output.html')
  const saved = shown ?? readSibling(context, 'html/output.html') ?? readSibling(context, TRUNCATED_PAGE)
  if (!saved) return undefined
  const url = shown ? shownUrl(context) : pageUrl(context)
  return { url, html: readable(saved, encodingOf(saved, UNDECLARED)) }
}

/** Text without NULs: browsers do not show them, and databases reject them. */
function readable(bytes: Buffer, encoding: string): string {
  return decodePage(bytes, encoding).replaceAll('\0', '')
}
