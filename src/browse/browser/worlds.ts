import { AppError } from '../../base/errors.ts'
import type { Scripts } from '../script/scripts.ts'
import type { Session } from './cdp.ts'
import { inPage } from './in-page.ts'

/**
 * Makes our own world in a frame: its scripts see the document, but none of the changes that the page's scripts made to
 * the language and the DOM.
 * @returns its number. Throws AppError when the frame is gone.
 */
export async function worldOf(session: Pick<Session, 'send'>, frameId: string): Promise<number> {
  return (await session.send('Page.createIsolatedWorld', { frameId, worldName: 'archivebox' })).executionContextId
}

/** The result of a script in our world. Throws AppError with the script's error. */
export async function runIn<N extends keyof Scripts>(
  session: Pick<Session, 'send'>,
  contextId: number,
  name: N,
  ...given: Parameters<Scripts[N]>
): Promise<Awaited<ReturnType<Scripts[N]>>> {
  const { result, exceptionDetails: trouble } = await session.send('Runtime.evaluate', {
    contextId,
    expression: inPage(name, ...given),
    awaitPromise: true,
    returnByValue: true,
  })
  if (trouble) throw new AppError(`a script failed in the page: ${trouble.exception?.description ?? trouble.text}`)
  return result.value as Awaited<ReturnType<Scripts[N]>>
}
