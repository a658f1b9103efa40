/** For each element, Turndown reads all of its content again. Ordinary articles stay below this depth of 50. */
const MAX_DEPTH = 100
/**
 * It assembles the text of an element part by part, and copies the text so far each time: characters times parts, about
 * one per nanosecond. A long article has a tenth of this.
 */
const MAX_COPIED = 3_000_000_000

const TAG = /<(\/?)([a-z][^\s/>]*)/gi
const EMPTY = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '))

/**
 * Why an article would take Turndown minutes, in a few words; undefined: it would not. Every tag counts, wherever it
 * is: parsers differ in what they take for text inside SVG.
 * @param html as a tree is written, with all of its end tags
 */
export function tooMuch(html: string): string | undefined {
  const open: { readonly start: number; parts: number }[] = [{ start: 0, parts: 0 }]
  let copied = 0
  for (const { 1: slash, 2: name, index } of html.matchAll(TAG)) {
    if (slash === '') {
      open.at(-1)!.parts += 2 // With the text before it.
      if (!EMPTY.has(name!.toLowerCase())) open.push({ start: index, parts: 0 })
    } else if (open.length > 1) {
      const { start, parts } = open.pop()!
      copied += parts * (index - start)
    }
    if (open.length > MAX_DEPTH) return `nested deeper than ${MAX_DEPTH} elements`
  }
  for (const { start, parts } of open) copied += parts * (html.length - start)
  return copied > MAX_COPIED ? 'too many elements beside each other' : undefined
}
