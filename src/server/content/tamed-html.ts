import { INNER } from './asked.ts'
import { frameIn } from './frames.ts'
import { type Attribute, isFrameTag, MOST_OF_FRAME, readTag, TAG_END } from './read-tag.ts'

/**
 * Archived HTML, without what no policy controls: what makes a browser connect, navigate by itself, or tell another
 * page where it comes from.
 *
 * Tags are looked for wherever an HTML parser could see one, even in a comment, a string or a text, because parsers
 * disagree: even a browser's own two do. So the change to a tag must not harm any of the texts that it could be: a
 * letter is replaced by another one, and an attribute without quotes is added after the name of a tag. Nothing is
 * removed: a quote that one parser sees within a value ends another tag for the next one.
 */
export class TamedHtml {
  #text = ''
  /** Pending changes to the text, by tags that began before it. */
  #later: readonly Edit[] = []
  /** A tag without an end yet is read again when there is twice as much of it. */
  #waitFor = 0
  /** How much more than the text may be read: tags within tags are read again, and hostile ones without end. */
  #budget = SPARE
  /** How much was consumed before the text that is left. */
  #taken = 0
  readonly #frames: string | undefined

  /**
   * @param frames the beginning of the address of a document in a frame (`frames.ts`); undefined: such frames are empty
   */
  constructor(frames?: string) {
    this.#frames = frames
  }

  /** Takes the next part of a text. @returns what is final by now, in pieces that take little time and memory each */
  *push(part: string): Generator<string> {
    this.#text += part
    this.#budget += part.length * READ_AGAIN
    if (this.#text.length >= this.#waitFor) yield* this.#take(false)
  }

  /** @returns the rest */
  *end(): Generator<string> {
    yield* this.#take(true)
  }

  *#take(isEnd: boolean): Generator<string> {
    this.#waitFor = 0
    // The beginning of a name may be the end of a part.
    const most = isEnd ? this.#text.length : startOfTag(this.#text)
    for (let left = most; ; ) {
      const { piece, taken } = this.#piece(left, isEnd)
      left -= taken
      if (piece !== '') yield piece
      if (left === 0 || this.#waitFor > 0) return
    }
  }

  /** The next piece of the text, at most `sure` characters. */
  #piece(sure: number, isEnd: boolean): { readonly piece: string; readonly taken: number } {
    const text = this.#text
    const edits: Edit[] = [...this.#later]
    let seen = 0
    TAG.lastIndex = 0
    for (let found = TAG.exec(text); found && found.index < sure; found = TAG.exec(text)) {
      const { index: at } = found
      const kind = found[1]!.toLowerCase()
      const start = at + found[0].length
      const longest = isFrameTag(kind) ? MOST_OF_FRAME : MOST_OF_TAG
      const isEnough = seen >= MOST_SEEN
      const tag = this.#budget > 0 && !isEnough ? readTag(text, start, longest) : undefined
      this.#budget -= tag?.read ?? 0
      seen += 1 + (tag?.attributes.length ?? 0)
      if (isEnough) sure = at
      else if (tag?.end === 'open' && !isEnd) {
        sure = at
        this.#waitFor = 2 * (text.length - at)
      } else if (tag !== undefined && tag.end !== 'long') {
        const frame = this.#frames === undefined ? undefined : `${this.#frames}${this.#taken + at}`
        edits.push(...editsOf(kind, start, tag.attributes, frame))
      }
      // Its meaning is unclear: it is neutralised.
      else edits.push({ at: at + 1, until: at + 2, text: 'x' })
      TAG.lastIndex = start
    }
    const each = unique(edits)
    this.#text = text.slice(sure)
    this.#taken += sure
    this.#later = each.flatMap(({ at, until, text }) =>
      at < sure ? [] : [{ at: at - sure, until: until - sure, text }],
    )
    const now = each.filter(({ at }) => at < sure)
    return { piece: edited(text.slice(0, sure), now), taken: sure }
  }
}

const READ_AGAIN = 4
const SPARE = 65_536
/** After so many tags and attributes a piece ends: a hostile page of 16 MB has millions. */
const MOST_SEEN = 16_384
/**
 * The longest tag; longer ones do not count. Only a frame's may be longer, since it may have a whole document in it.
 */
const MOST_OF_TAG = 65_536
const TAG = new RegExp(`<(a|area|base|link|meta|i?frame|set|animate\\w{0,16})(?=${TAG_END})`, 'gi')
const LONGEST_NAME = 24

/** Replaces the text between two positions. */
interface Edit {
  readonly at: number
  readonly until: number
  readonly text: string
}

/** The changes to the attributes of a tag. @param frame the address of its document, if it has one as an attribute */
function editsOf(kind: string, start: number, attributes: readonly Attribute[], frame: string | undefined): Edit[] {
  const edits = attributes.flatMap((attribute): Edit[] => {
    const { name, at, value, valueAt } = attribute
    if (isFrameTag(kind) && name === 'src' && isBeside(value)) return [marked(value, valueAt)]
    return isHarmless(kind, attribute) ? [] : [{ at: at + 1, until: at + 2, text: 'x' }]
  })
  // The first of two equal attributes counts.
  const first = (text: string): Edit[] => [{ at: start, until: start, text: ` ${text} ` }, ...edits]
  if (frame !== undefined && frameIn(kind, attributes) !== undefined) return first(`src=${frame}`)
  const leadsOut = /^(?:a|area)$/.test(kind) && attributes.some(({ name, value }) => LINK.test(name) && OUT.test(value))
  return leadsOut ? first('target=_blank') : edits
}

/** The address of a frame, marked as one. */
function marked(address: string, at: number): Edit {
  const end = at + (/^[^#]*/.exec(address)?.[0].trimEnd().length ?? 0)
  return { at: end, until: end, text: `${address.includes('?') ? '&' : '?'}${INNER}` }
}

const LINK = /^(?:xlink:)?href$/
/** To another host, as pages usually write it; a link in any other form stays in its frame. */
const OUT = /^\s*(?:https?:)?\/\//i
const SHEET = /^\s*(?:alternate\s+)?stylesheet(?:\s+alternate)?\s*$/i
const TELLS = /^(?:rel|target|ping|referrerpolicy|attributionsrc)$/

/** Whether an attribute may stay. A value is judged as written, since a reference in it could be anything. */
function isHarmless(kind: string, { name, value }: Attribute): boolean {
  if (kind === 'link') return name !== 'rel' || SHEET.test(value)
  if (kind === 'meta') return !/^(?:http-equiv|name|property)$/.test(name) || (name !== 'http-equiv' && isPlain(value))
  if (kind === 'base') return name !== 'href' && name !== 'target'
  // Chromium connects to the target of a frame before it checks whether that is forbidden.
  if (isFrameTag(kind)) return name !== 'srcdoc' && name !== 'src'
  // SVG animations change attributes without a script.
  if (kind === 'set' || kind.startsWith('animate')) return name !== 'attributename' || !/href|target|&/i.test(value)
  return !TELLS.test(name)
}

const isPlain = (value: string) => /^[\w:.-]*$/.test(value) && !/^referrer$/i.test(value)

/** Whether an address leads to the same host, whichever parser reads it. Of references only `&amp;` is resolved. */
function isBeside(value: string): boolean {
  const address = value.replace(/^[\0- ]+/, '').replace(/&amp;|&(?=[\w.-]*=)/g, '')
  return !/[&\\\t\n\f\r]|^\/\/|^[^/?#]*:/.test(address)
}

/** The position of a tag's name that is not complete yet; the length of the text when there is none. */
function startOfTag(text: string): number {
  const at = text.lastIndexOf('<')
  return at === -1 || text.length - at > LONGEST_NAME ? text.length : at
}

/** In order: at one position, insertions come first. Tags within tags change the same letters: each counts once. */
function unique(edits: readonly Edit[]): Edit[] {
  const all = edits.toSorted((a, b) => a.at - b.at || a.until - b.until || (a.text < b.text ? -1 : 1))
  return all.filter(({ at, until, text }, index) => {
    const before = all[index - 1]
    return before?.at !== at || before.until !== until || before.text !== text
  })
}

/** @param edits in order */
function edited(text: string, edits: readonly Edit[]): string {
  const parts: string[] = []
  let written = 0
  for (const { at, until, text: fresh } of edits) {
    parts.push(text.slice(written, at), fresh)
    written = until
  }
  return parts.join('') + text.slice(written)
}
