/** Text that is HTML already: made by `html`, never taken from outside. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Part = Html | string | number | null | undefined | readonly Part[]

/**
 * A template whose values are escaped, unless they are HTML already. Null and undefined are nothing; arrays are
 * joined.
 */
export function html(strings: TemplateStringsArray, ...values: readonly Part[]): Html {
  return new Html(strings.reduce((out, text, index) => out + part(values[index - 1]) + text))
}

function part(value: Part): string {
  if (value === null || value === undefined) return ''
  if (value instanceof Html) return value.text
  if (Array.isArray(value)) return value.map(part).join('')
  return String(value).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** Text of an archived page: its direction marks (U+202E and the like) have no effect beyond it. */
export function foreign(text: string): Html {
  return html`<bdi>${text}</bdi>`
}
