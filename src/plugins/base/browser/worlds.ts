import { AppError } from '../../../base/errors.ts'
import type { Tab } from './tab.ts'

/**
 * A frame's world of our own: scripts in it see the document, but none of what the page's scripts have replaced.
 * @returns its number. Throws AppError when the frame is gone.
 */
export async function worldOf(tab: Pick<Tab, 'send'>, frameId: string): Promise<number> {
  return (await tab.send('Page.createIsolatedWorld', { frameId, worldName: 'archivebox' })).executionContextId
}

/** The value of an expression in a world, which may be a promise. Throws AppError with the script's error. */
export async function evaluateIn<T>(tab: Pick<Tab, 'send'>, contextId: number, expression: string): Promise<T> {
  const { result, exceptionDetails: trouble } = await tab.send('Runtime.evaluate', {
    contextId,
    expression,
    awaitPromise: true,
    returnByValue: true,
  })
  if (trouble) throw new AppError(`a script failed in the page: ${trouble.exception?.description ?? trouble.text}`)
  return result.value as T
}
