import type { RequestContext } from '../request-context.ts'
import type { Answer } from './answer.ts'
import { follow } from './follow.ts'
import { answerForPage, received } from './page-request.ts'
import { retryAfterSeconds } from './retry-after.ts'

/**
 * The answer to a GET of `start`, after redirects (`follow`). Throws AppError with one plain line for every failure; an
 * HTTP error status is an answer like any other.
 *
 * The page itself is asked for once: all hooks of a row get the same answer, or the same failure, and together they
 * wait for it no longer than the most patient one would alone. The body of any other answer is the caller's to close.
 */
export async function get(context: RequestContext, start: string): Promise<Answer> {
  const { onEnd } = context
  if (start !== context.url || !onEnd) return received(await follow(context, start))
  const answer = await answerForPage({ ...context, onEnd })
  context.answered?.(answer.status, retryAfterSeconds(answer.headers['retry-after']))
  return answer
}

/** `HTTP 404 Not Found`, as people write it. */
export function statusLine(answer: { readonly status: number; readonly statusText: string }): string {
  return `HTTP ${answer.status} ${answer.statusText}`.trim()
}
