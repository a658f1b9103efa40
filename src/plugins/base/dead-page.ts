import { hasEnded } from '../../browse/http/page-request.ts'
import type { HookContext } from '../../hooks/contract.ts'
import { readSibling, siblingRan, TRUNCATED_PAGE } from './siblings.ts'

/**
 * Whether the html hook has found that this page cannot be fetched, so that nobody requests it again. If it broke off,
 * others may still get as much, or more; if it never ends, it would take up their time, too.
 */
export function isDead(context: Pick<HookContext, 'outputDir' | 'visit'>): boolean {
  if (!siblingRan(context, 'html') || readSibling(context, 'html/output.html')) return false
  return !(readSibling(context, TRUNCATED_PAGE) && hasEnded(context.visit))
}
