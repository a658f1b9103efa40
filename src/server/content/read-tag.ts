/** An attribute of a tag, as written. */
export interface Attribute {
  /** In lower case. */
  readonly name: string
  /** Where its name begins. */
  readonly at: number
  readonly value: string
  readonly valueAt: number
}

export interface Tag {
  readonly attributes: readonly Attribute[]
  /** Whether it ends; `open`: the text ends first; `long`: it is longer than a tag may be. */
  readonly end: 'whole' | 'open' | 'long'
  /** How many characters were read, or the equivalent cost. */
  readonly read: number
}

/**
 * The longest tag of a frame, which may have a whole document in it, in characters. Longer ones do not count as tags.
 */
export const MOST_OF_FRAME = 16_777_216

/** Whether a tag of this name may have a document of its own. */
export const isFrameTag = (name: string): boolean => /^i?frame$/.test(name)

/** A tag with more attributes, each of which takes memory, is too long: no shorter tag has that many. */
const MOST_ATTRIBUTES = 32_768
/** The cost of an attribute besides its characters. */
const COST = 16
const SPACE = '\\t\\n\\f\\r '
/** The pattern for the end of a tag's name. */
export const TAG_END = `[${SPACE}/>]`
const GAP = new RegExp(`[${SPACE}/]*`, 'y')
const NAME = new RegExp(`=?[^${SPACE}/>=]*`, 'y')
const EQUALS = new RegExp(`[${SPACE}]*=[${SPACE}]*`, 'y')
const BARE = new RegExp(`[^${SPACE}>]*`, 'y')

/** The attributes of a tag, as a browser reads them (HTML, 13.2.5). @param start after its name */
export function readTag(text: string, start: number, longest: number): Tag {
  const attributes: Attribute[] = []
  const part = text.slice(start, start + longest)
  const ended = (end: Tag['end']) => ({ attributes, end, read: at + COST * attributes.length })
  const unfinished = text.length - start < longest ? 'open' : 'long'
  let at = 0
  const next = (pattern: RegExp): string => {
    pattern.lastIndex = at
    const [found = ''] = pattern.exec(part) ?? []
    at += found.length
    return found
  }
  for (;;) {
    next(GAP)
    if (at >= part.length) return ended(unfinished)
    if (part[at] === '>') return ended('whole')
    if (attributes.length === MOST_ATTRIBUTES) return ended('long')
    const nameAt = at
    const name = next(NAME).toLowerCase()
    let [value, valueAt] = ['', at]
    if (next(EQUALS) !== '') {
      valueAt = at
      const quote = part[at]
      if (quote === '"' || quote === "'") {
        const end = part.indexOf(quote, at + 1)
        if (end === -1) return { attributes, end: unfinished, read: part.length }
        valueAt += 1
        value = part.slice(valueAt, end)
        at = end + 1
      } else value = next(BARE)
    }
    attributes.push({ name, at: start + nameAt, value, valueAt: start + valueAt })
  }
}
