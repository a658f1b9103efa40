import { AppError } from '../../base/errors.ts'
import type { Session } from './cdp.ts'

/**
 * A frame's world of our own: scripts in it see the document, but none of what the page's scripts have replaced.
 * @returns its number. Throws AppError when the frame is gone.
 */
export async function worldOf(session: Pick<Session, 'send'>, frameId: string): Promise<number> {
  return (await session.send('Page.createIsolatedWorld', { frameId, worldName: 'archivebox' })).executionContextId
}

/** The value of an expression in a world, which may be a promise. Throws AppError with the script's error. */
export async function evaluateIn<T>(session: Pick<Session, 'send'>, contextId: number, expression: string): Promise<T> {
  const { result, exceptionDetails: trouble } = await session.send('Runtime.evaluate', {
    contextId,
    expression,
    awaitPromise: true,
    returnByValue: true,
  })
  if (trouble) throw new AppError(`a script failed in the page: ${trouble.exception?.description ?? trouble.text}`)
  return result.value as T
}
