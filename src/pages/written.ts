import { Html, html } from './html.ts'
import type { Element, Markup } from './markup.ts'

/** Elements without an end tag. */
const EMPTY: ReadonlySet<string> = new Set(['img', 'br', 'input'])

/** A piece of a page as text, with everything escaped. Pictures that cannot be loaded have no replacement. */
export function written(markup: Markup): Html {
  return typeof markup === 'object' ? writtenElement(markup) : html`${markup}`
}

function writtenElement({ tag, attributes, children }: Element): Html {
  const name = new Html(tag)
  const start = html`<${name}${Object.entries(attributes).map(attribute)}>`
  return EMPTY.has(tag) ? start : html`${start}${children.map(written)}</${name}>`
}

function attribute([name, value]: [string, Element['attributes'][string]]): Html {
  if (value === undefined || value === false) return html``
  return html` ${new Html(name)}="${value === true ? '' : value}"`
}
