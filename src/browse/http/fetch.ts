import type { RequestContext } from '../request-context.ts'
import type { Answer } from './answer.ts'
import { follow } from './follow.ts'
import { answerForPage, received } from './page-request.ts'
import { retryAfterSeconds } from './retry-after.ts'

/** See `../index.ts`: all who share a visit share one request for the page itself. */
export async function fetchPage(context: RequestContext, start: string): Promise<Answer> {
  const { onEnd } = context
  if (start !== context.url || !onEnd) return received(await follow(context, start))
  const answer = await answerForPage({ ...context, onEnd })
  context.answered?.(answer.status, retryAfterSeconds(answer.headers['retry-after']))
  return answer
}
