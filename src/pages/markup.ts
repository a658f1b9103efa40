/**
 * A piece of a page before it is written as text or drawn as nodes: both escape it, so that untrusted text never
 * becomes markup.
 */
export interface Element {
  readonly tag: string
  /** Undefined and false ones are omitted; true: present, and empty. */
  readonly attributes: Readonly<Record<string, string | number | boolean | undefined>>
  readonly children: readonly Markup[]
  /** Replaces a picture that cannot be loaded. */
  readonly otherwise?: Markup
}

/** Undefined is nothing. */
export type Markup = Element | string | undefined

/** An element of a page. */
export function element(tag: string, attributes: Element['attributes'] = {}, ...children: readonly Markup[]): Element {
  return { tag, attributes, children }
}
