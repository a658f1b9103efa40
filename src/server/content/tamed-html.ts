import { Parser } from 'htmlparser2'
import { INNER } from './asked.ts'

/**
 * HTML as it was archived, without what no policy rules: what makes a browser connect, go elsewhere by itself, or tell
 * another page where it comes from.
 *
 * A tag is looked for wherever a reader of HTML could see one, in a comment, a string or a text, too, because readers
 * disagree on that: a browser's own two do. So what is done to one may harm none of the texts that it could be: a
 * letter becomes another one, an attribute without quotes comes after the name of a tag, a value loses what ends it.
 */
export class TamedHtml {
  #text = ''
  /** What becomes of the text, by tags that began before it. */
  #later: readonly Edit[] = []
  /** A tag that has no end yet is read again when there is twice as much of it. */
  #waitFor = 0
  /** How much more may be read than there is: tags within tags are read again, and hostile ones without end. */
  #budget = SPARE
  readonly #depth: number

  /** @param depth of frames that have their document as an attribute */
  constructor(depth = 0) {
    this.#depth = depth
  }

  /** Takes the next part of a text. @returns what of it is sure by now */
  push(part: string): string {
    this.#text += part
    this.#budget += part.length * READ_AGAIN
    return this.#text.length < this.#waitFor ? '' : this.#take(false)
  }

  /** @returns the rest */
  end(): string {
    return this.#take(true)
  }

  #take(isEnd: boolean): string {
    const text = this.#text
    const tags: Found[] = [{ at: -1, edits: this.#later }]
    this.#waitFor = 0
    // The beginning of a name may be the end of a part.
    let sure = isEnd ? text.length : startOfTag(text)
    TAG.lastIndex = 0
    for (let found = TAG.exec(text); found && found.index < sure; found = TAG.exec(text)) {
      const { index: at } = found
      const kind = found[1]!.toLowerCase()
      const start = at + found[0].length
      const most = FRAMES.test(kind) ? MOST_OF_FRAME : MOST_OF_TAG
      const tag = this.#budget > 0 ? readTag(text, start, Math.min(text.length, start + most)) : undefined
      this.#budget -= tag?.read ?? 0
      const isOpen = tag !== undefined && !tag.isWhole && text.length - start < most
      if (isOpen && !isEnd) {
        sure = at
        this.#waitFor = 2 * (text.length - at)
      } else if (tag?.isWhole || isOpen) tags.push({ at, edits: editsOf(kind, start, tag.attributes, this.#depth) })
      // Nobody knows what this is: it becomes nothing.
      else tags.push({ at, edits: [{ at: at + 1, until: at + 2, text: 'x' }] })
      TAG.lastIndex = start
    }
    const edits = tags.flatMap((tag) => tag.edits)
    for (const { at, until } of edits.toSorted((a, b) => b.at - a.at)) if (at < sure && sure < until) sure = at
    const settled = tags.filter(({ at }) => at < sure).flatMap((tag) => tag.edits)
    this.#text = text.slice(sure)
    this.#later = settled.flatMap(({ at, until, text }) =>
      at < sure ? [] : [{ at: at - sure, until: until - sure, text }],
    )
    return edited(
      text.slice(0, sure),
      settled.filter(({ at }) => at < sure),
    )
  }
}

/** HTML that is there as a whole. */
export function tamedHtml(text: string, depth = 0): string {
  const tamed = new TamedHtml(depth)
  return tamed.push(text) + tamed.end()
}

const READ_AGAIN = 4
/** What an attribute costs besides its letters. */
const COST = 16
const SPARE = 65_536
/** A longer tag is none: one of a frame may have a whole document in it. */
const MOST_OF_TAG = 65_536
const MOST_OF_FRAME = 16_777_216
const MOST_FRAMES = 4
const FRAMES = /^i?frame$/
const SPACE = '\\t\\n\\f\\r '
const TAG = new RegExp(`<(a|area|base|link|meta|i?frame|set|animate\\w{0,16})(?=[${SPACE}/>])`, 'gi')
const LONGEST_NAME = 24

interface Attribute {
  readonly name: string
  /** Where its name begins. */
  readonly at: number
  readonly value: string
  readonly valueAt: number
}

/** A tag in a text, and what becomes of it. */
interface Found {
  readonly at: number
  readonly edits: readonly Edit[]
}

interface Tag {
  readonly attributes: readonly Attribute[]
  /** Has it an end? */
  readonly isWhole: boolean
  /** How many characters were looked at, or what costs as much. */
  readonly read: number
}

/** Replaces what is there between two places. */
interface Edit {
  readonly at: number
  readonly until: number
  readonly text: string
}

const GAP = new RegExp(`[${SPACE}/]*`, 'y')
const NAME = new RegExp(`=?[^${SPACE}/>=]*`, 'y')
const EQUALS = new RegExp(`[${SPACE}]*=[${SPACE}]*`, 'y')
const BARE = new RegExp(`[^${SPACE}>]*`, 'y')

/** The attributes of a tag, as a browser reads them (HTML, 13.2.5). @param start behind its name */
function readTag(text: string, start: number, most: number): Tag {
  const attributes: Attribute[] = []
  const part = text.slice(start, most)
  let at = 0
  const next = (pattern: RegExp): string => {
    pattern.lastIndex = at
    const [found = ''] = pattern.exec(part) ?? []
    at += found.length
    return found
  }
  for (;;) {
    next(GAP)
    if (at >= part.length) return { attributes, isWhole: false, read: at + COST * attributes.length }
    if (part[at] === '>') return { attributes, isWhole: true, read: at + COST * attributes.length }
    const nameAt = at
    const name = next(NAME).toLowerCase()
    let [value, valueAt] = ['', at]
    if (next(EQUALS) !== '') {
      valueAt = at
      const quote = part[at]
      if (quote === '"' || quote === "'") {
        const end = part.indexOf(quote, at + 1)
        if (end === -1) return { attributes, isWhole: false, read: part.length }
        valueAt += 1
        value = part.slice(valueAt, end)
        at = end + 1
      } else value = next(BARE)
    }
    attributes.push({ name, at: start + nameAt, value, valueAt: start + valueAt })
  }
}

/** What becomes of the attributes of a tag. */
function editsOf(kind: string, start: number, attributes: readonly Attribute[], depth: number): Edit[] {
  const edits = attributes.flatMap((attribute): Edit[] => {
    const { at, value, valueAt } = attribute
    if (kind === 'iframe' && attribute.name === 'srcdoc' && depth < MOST_FRAMES)
      return [{ at: valueAt, until: valueAt + value.length, text: escaped(tamedHtml(plain(value), depth + 1)) }]
    if (FRAMES.test(kind) && attribute.name === 'src') {
      if (isBeside(value)) return [marked(value, valueAt)]
      const [, type, base64] = depth < MOST_FRAMES ? (DOCUMENT.exec(value) ?? []) : []
      if (type !== undefined && base64 !== undefined) {
        const inner = tamedHtml(Buffer.from(base64, 'base64').toString(), depth + 1)
        return [{ at: valueAt, until: valueAt + value.length, text: type + Buffer.from(inner).toString('base64') }]
      }
    }
    return isHarmless(kind, attribute) ? [] : [{ at: at + 1, until: at + 2, text: 'x' }]
  })
  // The first of two attributes counts.
  const leadsOut = /^(?:a|area)$/.test(kind) && attributes.some(({ name, value }) => LINK.test(name) && OUT.test(value))
  return leadsOut ? [{ at: start, until: start, text: ' target=_blank' }, ...edits] : edits
}

/** A document in the address of a frame, as `singlefile` writes one. */
const DOCUMENT = /^(data:text\/html;charset=utf-8;base64,)([\w+/=]*)$/

/** The address of a frame, which says that it is one. */
function marked(address: string, at: number): Edit {
  const end = at + (/^[^#]*/.exec(address)?.[0].trimEnd().length ?? 0)
  return { at: end, until: end, text: `${address.includes('?') ? '&' : '?'}${INNER}` }
}

const LINK = /^(?:xlink:)?href$/
/** To another host, as whoever writes a page writes that; what is written otherwise stays in its frame. */
const OUT = /^\s*(?:https?:)?\/\//i
const SHEET = /^\s*(?:alternate\s+)?stylesheet(?:\s+alternate)?\s*$/i
const TELLS = /^(?:rel|target|ping|referrerpolicy|attributionsrc)$/

/** May an attribute stay? A value counts as it is written, since a reference in it could be anything. */
function isHarmless(kind: string, { name, value }: Attribute): boolean {
  if (kind === 'link') return name !== 'rel' || SHEET.test(value)
  if (kind === 'meta') return !/^(?:http-equiv|name|property)$/.test(name) || (name !== 'http-equiv' && isPlain(value))
  if (kind === 'base') return name !== 'href' && name !== 'target'
  // Chromium connects to where a frame would lead before it looks whether that is forbidden.
  if (FRAMES.test(kind)) return name !== 'srcdoc' && name !== 'src'
  // Moving pictures change attributes without a script.
  if (kind === 'set' || kind.startsWith('animate')) return name !== 'attributename' || !/href|target|&/i.test(value)
  return !TELLS.test(name)
}

const isPlain = (value: string) => /^[\w:.-]*$/.test(value) && !/^referrer$/i.test(value)

/** Does an address lead to the same host, whatever reads it? Of references only those of `&` are read. */
function isBeside(value: string): boolean {
  const address = value.replace(/^[\0- ]+/, '').replace(/&amp;|&(?=[\w.-]*=)/g, '')
  return !/[&\\\t\n\f\r]|^\/\/|^[^/?#]*:/.test(address)
}

/** What an attribute says, references replaced. */
function plain(value: string): string {
  if (!value.includes('&')) return value
  let text = ''
  const parser = new Parser({ onattribute: (_name, found) => (text = found) })
  parser.end(`<i x="${value.replaceAll('"', '&quot;')}">`)
  return text
}

/** As an attribute says it: with nothing that could end whatever it stands in. */
function escaped(text: string): string {
  return text.replace(/[&<>"'`=\s]/g, (character) => (character === ' ' ? '&#32;' : `&#${character.charCodeAt(0)};`))
}

/** Where the name of a tag begins whose end is not there yet; the length of the text when there is none. */
function startOfTag(text: string): number {
  const at = text.lastIndexOf('<')
  return at === -1 || text.length - at > LONGEST_NAME ? text.length : at
}

function edited(text: string, edits: readonly Edit[]): string {
  const parts: string[] = []
  let written = 0
  // Of two at one place, what comes in goes first; what lies in what was replaced is gone.
  for (const { at, until, text: fresh } of edits.toSorted((a, b) => a.at - b.at || a.until - b.until)) {
    if (at < written) continue
    parts.push(text.slice(written, at), fresh)
    written = until
  }
  return parts.join('') + text.slice(written)
}
