import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { unlessAborted } from '../../base/abort.ts'
import { AppError } from '../../base/errors.ts'
import type { RequestContext } from '../request-context.ts'
import type { Visit } from '../visit.ts'
import type { Answer, Earlier, PageRequest } from './answer.ts'
import { type Followed, follow } from './follow.ts'
import { Received } from './received.ts'
import { drop } from './request.ts'

/** The file for a long body while hooks may read it: beside their folders, or in that of a hook that runs alone. */
const RECEIVED = '.received'
const NOT_MODIFIED = 304
/** Headers that describe a body, which a 304 has not, whatever it says about one (RFC 9111, 3.2). */
const OF_A_BODY = /^(?:content-(?!security-policy)|transfer-encoding$)/

type PageContext = RequestContext & Required<Pick<RequestContext, 'onEnd'>>

/** Waits for the answer to the one request for the page. Throws its error, and the reason of the hook's signal. */
export async function answerForPage(context: PageContext): Promise<Answer> {
  const { visit, signal } = context
  let request = visit?.pageRequest
  if (request?.here?.answer.body.isLost) {
    await request.here.answer.body.close()
    request = undefined
  }
  request ??= requestPage(context)
  if (visit) visit.pageRequest = request
  const { here, began } = request
  context.spend?.(here ? here.afterMs + here.answer.body.waitedMs : performance.now() - began)
  return await unlessAborted(request.answer, signal)
}

async function ask(context: PageContext): Promise<Answer> {
  const { url, outputDir, visit } = context
  const place = outputDir && join(outputDir, visit ? '..' : '.', RECEIVED)
  const earlier = context.earlier?.()
  const followed = await follow(context, url, { earlier })
  if (followed.status !== NOT_MODIFIED || !followed.isConditional || !earlier) return received(followed, place)
  drop(followed.message)
  const file = await open(earlier.file).catch(() => undefined)
  // The earlier copy was deleted meanwhile.
  return file ? asBefore(followed, earlier, file, place) : received(await follow(context, url), place)
}

/** Turns "not modified" into an answer: the earlier body, its description and the present headers (RFC 9111, 4.3.4). */
function asBefore(
  { message: _, status, headers, ...now }: Followed,
  { headers: before, since }: Earlier,
  file: FileHandle,
  place: string | undefined,
): Answer {
  const stream = file.createReadStream()
  const body = new Received(stream, () => stream.destroy(), place)
  const notModified = { status, since, headers }
  const present = Object.entries(headers).filter(([name]) => !OF_A_BODY.test(name))
  const all = { ...before, ...Object.fromEntries(present) }
  return { ...now, status: 200, statusText: 'OK', headers: all, body, notModified }
}

/** Makes an answer whose body can be read more than once. @param place the path of a file for a long body */
export function received({ message, ...answer }: Followed, place?: string): Answer {
  return { ...answer, body: new Received(message, () => drop(message), place) }
}

/** Whether a hook of this row has requested the page, so that the others share the answer or the failure. */
export function isRequested(visit: Visit | undefined): boolean {
  return visit?.pageRequest !== undefined
}

/** Whether the page was received until its server ended it, or broke it off. */
export function hasEnded(visit: Visit | undefined): boolean {
  return visit?.pageRequest?.here?.answer.body.hasEnded ?? false
}

function requestPage(context: PageContext): PageRequest {
  const stop = new AbortController()
  const began = performance.now()
  const answer = ask({ ...context, signal: stop.signal })
  const request: PageRequest = { began, answer, here: undefined }
  const arrived = answer.then(
    (there) => {
      request.here = { answer: there, afterMs: performance.now() - began }
    },
    () => {},
  )
  context.onEnd(async () => {
    if (!request.here) stop.abort(new AppError('no longer needed'))
    await arrived
    await request.here?.answer.body.close()
  })
  return request
}
