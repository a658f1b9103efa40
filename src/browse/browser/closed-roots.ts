import type { Protocol } from 'devtools-protocol'
import { type Session, unlessGone } from './cdp.ts'

/** For the scripts in our world (`../script/world.ts`). Shadow roots that scripts make are open. */
const NOTE = 'function () { (globalThis.closedRoots ??= new WeakMap()).set(this.host, this) }'
/** How HTML declares one. */
const DECLARED = 'shadowrootmode\\s*=\\s*["\']?closed'

/**
 * Notes the closed shadow roots of a frame for a world in it, if its HTML declares any: finding them costs as much as
 * reading the whole page. Throws AppError when the frame is gone.
 */
export async function noteClosedRoots(
  tab: Pick<Session, 'send'>,
  frame: Protocol.Page.Frame,
  contextId: number,
): Promise<void> {
  const { id: frameId, url } = frame
  const search = { frameId, url, query: DECLARED, isRegex: true }
  const found = await tab.send('Page.searchInResource', search).catch(unlessGone)
  if (!found?.result.length) return // Or a script wrote the document, which then has no source.
  const { root } = await tab.send('DOM.getDocument', { depth: -1, pierce: true })
  const { frameTree } = await tab.send('Page.getFrameTree')
  for (const backendNodeId of closedIn(root, frameId, frameTree.frame.id === frameId)) {
    const { object } = await tab.send('DOM.resolveNode', { backendNodeId, executionContextId: contextId })
    await tab.send('Runtime.callFunctionOn', { objectId: object.objectId!, functionDeclaration: NOTE })
  }
  await tab.send('DOM.disable')
}

/** @param isHere whether the node is in that frame */
function* closedIn(node: Protocol.DOM.Node, frameId: string, isHere: boolean): Generator<number, void> {
  const { shadowRoots = [], children = [], contentDocument } = node
  if (isHere && node.shadowRootType === 'closed') yield node.backendNodeId
  for (const inner of [...shadowRoots, ...children]) yield* closedIn(inner, frameId, isHere)
  if (contentDocument) yield* closedIn(contentDocument, frameId, node.frameId === frameId)
}
