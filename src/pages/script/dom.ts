import { element, type Markup, type Element as Tree } from '../markup.ts'

export const find = <E extends Element = HTMLElement>(selector: string): E | null => document.querySelector<E>(selector)

/** An element that every page of its kind has. Throws when this one has none. */
export function need<E extends Element = HTMLElement>(selector: string, within: ParentNode = document): E {
  const found = within.querySelector<E>(selector)
  if (!found) throw new Error(`there is no ${selector}`)
  return found
}

/** Draws a piece of a page: text becomes text nodes, and never markup. */
export function draw({ tag, attributes, children, otherwise }: Tree): HTMLElement {
  const drawn = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) drawn.setAttribute(name, value === true ? '' : String(value))
  }
  drawn.append(...children.flatMap(nodes))
  if (otherwise !== undefined) drawn.addEventListener('error', () => drawn.replaceWith(...nodes(otherwise)))
  return drawn
}

const nodes = (markup: Markup): (Node | string)[] =>
  markup === undefined ? [] : [typeof markup === 'string' ? markup : draw(markup)]

/** The same by the parts of an element. */
export const make = (...parts: Parameters<typeof element>): HTMLElement => draw(element(...parts))

/** Loads a script; `then` is called even when it does not exist. */
export function load(src: string, then: () => void): void {
  const script = document.createElement('script')
  script.src = src
  script.onload = script.onerror = () => {
    script.remove()
    then()
  }
  document.head.append(script)
}

/** Whether a key means something to the focused element. */
export const isTypedInto = ({ target }: Event, tags: RegExp): boolean =>
  target instanceof Element && tags.test(target.tagName)

/** Keeps the filters in the address, so that a link or a reload shows the same. */
export function keepHash(hash: string): void {
  try {
    history.replaceState(null, '', `#${hash}`)
  } catch {
    // Not everywhere for files.
  }
}
