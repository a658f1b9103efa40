import type { Cdp } from './cdp.ts'

/**
 * Keeps a tab at its present document, whatever that attempts: requests that would navigate or reload it are aborted.
 * Its frames may still navigate. Uses a separate session, since another one may intercept requests, too.
 * @param target the id of the tab and of its main frame
 */
export async function stay(cdp: Cdp, target: string): Promise<void> {
  const { sessionId } = await cdp.send('Target.attachToTarget', { targetId: target, flatten: true })
  const session = cdp.session(sessionId)
  session.on('Fetch.requestPaused', ({ requestId, frameId }) => {
    const answer =
      frameId === target
        ? session.send('Fetch.failRequest', { requestId, errorReason: 'Aborted' }) // No error page follows.
        : session.send('Fetch.continueRequest', { requestId })
    answer.catch(() => {}) // The request is over.
  })
  await session.send('Fetch.enable', { patterns: [{ resourceType: 'Document' }] })
}
