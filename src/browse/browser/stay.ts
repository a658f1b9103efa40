import type { Cdp } from './cdp.ts'

/**
 * Keeps a tab at the document that it shows, whatever that document tries: what leads it elsewhere, or to itself, is
 * not requested. Frames in it go on. Heard through a session of its own, since another one may intercept, too.
 * @param target the tab's, which is its main frame's as well
 */
export async function stay(cdp: Cdp, target: string): Promise<void> {
  const { sessionId } = await cdp.send('Target.attachToTarget', { targetId: target, flatten: true })
  const session = cdp.session(sessionId)
  session.on('Fetch.requestPaused', ({ requestId, frameId }) => {
    const answer =
      frameId === target
        ? session.send('Fetch.failRequest', { requestId, errorReason: 'Aborted' }) // No page of errors follows.
        : session.send('Fetch.continueRequest', { requestId })
    answer.catch(() => {}) // It is over.
  })
  await session.send('Fetch.enable', { patterns: [{ resourceType: 'Document' }] })
}
