// What is kept in a world of ours between two scripts, or for those who ask it by DevTools.
declare global {
  /** Shadow roots that are closed, by their hosts. */
  var closedRoots: WeakMap<Element, ShadowRoot> | undefined
  /** The elements with FRAME_MARK. */
  var framesOfPage: Element[]
  /** The elements that pictures are to be taken of. */
  var picturedOfPage: Element[]
  /** What was hidden, and the style sheet that hides it, by its selector. */
  var hiddenOverlays: Map<string, CSSStyleSheet> | undefined
}

/** The shadow root of an element, also one that is closed. */
export const shadowOf = (element: Element): ShadowRoot | null =>
  openRootOf(element) ?? globalThis.closedRoots?.get(element) ?? null

/**
 * Reads a property of an element: `reader(Element, 'shadowRoot')`. An element with a name of its own may stand before
 * what a document or a form has of that name.
 */
export function reader<T extends object, K extends keyof T>(of: { readonly prototype: T }, name: K): (of: T) => T[K] {
  const { get } = Object.getOwnPropertyDescriptor(of.prototype, name)!
  return (node) => get!.call(node) as T[K]
}

const openRootOf = reader(Element, 'shadowRoot')
