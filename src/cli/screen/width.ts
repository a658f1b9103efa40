/** ASCII, and the characters that we draw with: one column each. */
const NARROW = /^[\u0020-\u007e\u2026\u2500-\u259f\u2713\u2717\u00b7\u2013]*$/

/** A text that needs measuring. */
export const WIDE = '字'

interface Measures {
  readonly widthOf: (text: string) => number
  readonly segmenter: Intl.Segmenter
}
let measures: Measures | undefined

/**
 * Prepares to measure these texts. The library for wide characters and emoji takes 10 ms to load, a tenth of a short
 * command, and most screens need none of it.
 */
export async function loadWidths(texts: Iterable<string>): Promise<void> {
  if (measures) return
  for (const text of texts) {
    if (NARROW.test(text)) continue
    const { default: widthOf } = await import('string-width')
    measures = { widthOf, segmenter: new Intl.Segmenter() }
    return
  }
}

/** The columns that a text without escape sequences takes. */
export function widthOf(text: string): number {
  return measures === undefined || NARROW.test(text) ? text.length : measures.widthOf(text)
}

/** The visible characters of a text. */
export function characters(text: string): string[] {
  if (measures === undefined || NARROW.test(text)) return [...text]
  return Array.from(measures.segmenter.segment(text), ({ segment }) => segment)
}
