// Data that is kept in our world between two scripts, or for callers of DevTools commands.
declare global {
  /** Closed shadow roots, by their hosts. */
  var closedRoots: WeakMap<Element, ShadowRoot> | undefined
  /** The elements with FRAME_MARK. */
  var framesOfPage: Element[]
  /** The elements that need a picture taken. */
  var picturedOfPage: Element[]
  /** What was hidden, and the style sheet that hides it, by selector. */
  var hiddenOverlays: Map<string, CSSStyleSheet> | undefined
}

/** The shadow root of an element, even a closed one. */
export const shadowOf = (element: Element): ShadowRoot | null =>
  openRootOf(element) ?? globalThis.closedRoots?.get(element) ?? null

/**
 * Reads a property of an element: `reader(Element, 'shadowRoot')`. A named element inside a document or a form may
 * shadow its property of that name.
 */
export function reader<T extends object, K extends keyof T>(of: { readonly prototype: T }, name: K): (of: T) => T[K] {
  const { get } = Object.getOwnPropertyDescriptor(of.prototype, name)!
  return (node) => get!.call(node) as T[K]
}

const openRootOf = reader(Element, 'shadowRoot')
