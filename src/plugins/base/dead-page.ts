import { hasEnded } from '../../browse/http/page-request.ts'
import type { HookContext } from '../../hooks/contract.ts'
import { readSibling, siblingRan, TRUNCATED_PAGE } from './siblings.ts'

/**
 * Has the html hook found that this page cannot be had? Then nobody asks for it again. One that broke off may come to
 * others as far, or farther; one that does not end would take their time, too.
 */
export function isDead(context: Pick<HookContext, 'outputDir' | 'visit'>): boolean {
  if (!siblingRan(context, 'html') || readSibling(context, 'html/output.html')) return false
  return !(readSibling(context, TRUNCATED_PAGE) && hasEnded(context.visit))
}
