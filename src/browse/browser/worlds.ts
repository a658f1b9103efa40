import { AppError } from '../../base/errors.ts'
import type { Scripts } from '../script/scripts.ts'
import type { Session } from './cdp.ts'
import { inPage } from './in-page.ts'

/**
 * A frame's world of our own: scripts in it see the document, but none of what the page's scripts have replaced.
 * @returns its number. Throws AppError when the frame is gone.
 */
export async function worldOf(session: Pick<Session, 'send'>, frameId: string): Promise<number> {
  return (await session.send('Page.createIsolatedWorld', { frameId, worldName: 'archivebox' })).executionContextId
}

/** What a script comes to in a world of ours. Throws AppError with the script's error. */
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
