import type { HookContext } from './contract.ts'
import type { PageRequest } from './fetch.ts'
import { readSibling, siblingRan, TRUNCATED_PAGE } from './siblings.ts'
import { ANSWER } from './visit.ts'

/**
 * Has the html hook found that this page cannot be had? Then nobody asks for it again. One that broke off may come to
 * others as far, or farther; one that does not end would take their time, too.
 */
export function isDead(context: Pick<HookContext, 'outputDir' | 'visit'>): boolean {
  if (!siblingRan(context, 'html') || readSibling(context, 'html/output.html')) return false
  const request = context.visit?.known<PageRequest>(ANSWER)
  return !(readSibling(context, TRUNCATED_PAGE) && request?.here?.answer.body.hasBrokenOff)
}
