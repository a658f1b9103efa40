import type { Fields } from './fields.ts'

/** Lists with these names hold entries; all others belong to an entry: its tags, its attachments. */
export const LISTS = new Set(
  ' items bookmarks links children collections entries results data list articles urls'.split(' '),
)
/** The longest entry, including the text of its page. */
const LONGEST = 32_000_000
/** How much may precede the list in an object. */
const LONGEST_HEAD = 10_000

export interface JsonVisitor {
  /** @param above the fields of the surrounding object that came before its list */
  value(value: string | Fields, line: number, above: Fields | undefined): void
  broken(why: string, line: number): void
}

/** An open list or object. */
interface Frame {
  readonly isList: boolean
  /** Whether its values are entries, or lists of entries. */
  readonly holdsEntries: boolean
  readonly above?: Fields | undefined
}

/** An object that counts as an entry, unless it turns out to hold a list of them. */
interface OpenEntry {
  readonly begin: number
  readonly depth: number
  readonly line: number
  readonly indent: number
}

/**
 * Finds the entries in JSON that comes in chunks: strings and objects in lists of entries, however deep those lie. Each
 * is parsed alone, so that memory stays flat, and what is broken costs the entry it is in, not the lines after it. Of
 * 100,000 entries, the 51st broken, a parser that streams (@streamparser/json) gives 50, and `JSON.parse` none.
 */
export class JsonScanner {
  readonly #visitor: JsonVisitor
  #frames: Frame[] = []
  // Positions are relative to `#text`, which begins with what is still needed.
  #text = ''
  #at = 0
  #line = 1
  #lineBegin = 0
  #entry: OpenEntry | undefined
  /** Where the open string begins. */
  #string: number | undefined
  /** The string that was the last value or name so far; in a list also null, a flag or a number. */
  #last: string | undefined
  #name = ''
  /** After a syntax error nothing counts before the next line that begins an object. */
  #isLost = false
  /** It was between entries: a line that begins a string counts, too. Within an entry, that is one of its fields. */
  #isLostBetween = false

  constructor(visitor: JsonVisitor) {
    this.#visitor = visitor
  }

  write(chunk: string): void {
    const needed = Math.min(this.#entry?.begin ?? this.#at, this.#string ?? this.#at, this.#at)
    // What came before in this line is forgotten, not that there was something.
    if (!this.#isFirst(needed)) this.#lineBegin = Number.NEGATIVE_INFINITY
    this.#text = this.#text.slice(needed) + chunk
    this.#at -= needed
    this.#lineBegin -= needed
    if (this.#entry) this.#entry = { ...this.#entry, begin: this.#entry.begin - needed }
    if (this.#string !== undefined) this.#string -= needed
    for (; this.#at < this.#text.length; this.#at += 1) this.#step(this.#text[this.#at]!)
    if (this.#entry && this.#at - this.#entry.begin > LONGEST) this.#break('an entry of more than 32 MB')
  }

  end(): void {
    if (this.#isLost) return
    this.#endOfValue()
    if (this.#entry) this.#visitor.broken('it ends in the middle of an entry', this.#entry.line)
    else if (this.#frames.length > 0) this.#visitor.broken('it ends too early: a list is not closed', this.#line)
  }

  #step(char: string): void {
    if (char === '\n') this.#newLine()
    else if (this.#string !== undefined) this.#inString(char)
    else if (char === '{') this.#openObject()
    else if (this.#isLost && !this.#isFoundBy(char)) return
    else if (char === '"') this.#openString()
    else if (char === ':') this.#colon()
    else if (char === ',') this.#endOfValue()
    else if (char === '[') this.#openList()
    else if (char === '}' || char === ']') this.#close(char === ']')
    else if (char > ' ' && !this.#entry && this.#frames.at(-1)?.isList !== false) this.#inWord(char)
  }

  /** Whether this is the quotation mark of a line that begins a string, in the list that the error was in. */
  #isFoundBy(char: string): boolean {
    if (!this.#isLostBetween || char !== '"' || !this.#isFirst(this.#at)) return false
    this.#isLost = false
    return true
  }

  /** Whether the line begins at this position, apart from commas and brackets. */
  #isFirst(at: number): boolean {
    if (this.#lineBegin === Number.NEGATIVE_INFINITY) return false
    return /^[\s,[]*$/.test(this.#text.slice(Math.max(0, this.#lineBegin), at))
  }

  /** Null, a flag or a number in a list; anything else is an error. */
  #inWord(char: string): void {
    const word = `${this.#last ?? ''}${char}`
    this.#last = word
    if (this.#frames.length > 0 && isWord(word)) return
    this.#break(`not JSON: ${word}${this.#text.slice(this.#at + 1, this.#at + 40).split('\n', 1)[0]}`, true)
  }

  #openString(): void {
    // Only the comma between them is missing.
    if (this.#last !== undefined && this.#frames.at(-1)?.isList !== false) this.#endOfValue()
    this.#string = this.#at
  }

  #inString(char: string): void {
    if (char === '\\') this.#at += 1
    else if (char === '"') {
      this.#last = this.#text.slice(this.#string!, this.#at + 1)
      this.#string = undefined
    }
  }

  #newLine(): void {
    if (this.#string !== undefined) this.#break('a quotation mark is missing', true)
    this.#line += 1
    this.#lineBegin = this.#at + 1
  }

  #colon(): void {
    if (this.#last !== undefined && this.#frames.at(-1)?.isList !== false) {
      this.#break('a brace is missing')
      return
    }
    this.#name = this.#last?.slice(1, -1) ?? ''
    this.#last = undefined
  }

  #openObject(): void {
    const before = this.#text.slice(Math.max(0, this.#lineBegin), this.#at)
    const isFirst = this.#isFirst(this.#at)
    const entry = this.#entry
    if (entry && isFirst && this.#line > entry.line && before.length <= entry.indent)
      this.#break('it ends in the middle of an entry')
    if (this.#isLost && !isFirst) return
    this.#isLost = false
    const list = this.#frames.at(-1)
    const holdsEntries = list?.holdsEntries ?? true
    if (holdsEntries && list?.isList !== false) {
      const indent = isFirst ? before.length : Number.MAX_SAFE_INTEGER
      this.#entry = { begin: this.#at, depth: this.#frames.length, line: this.#line, indent }
    }
    this.#last = undefined
    this.#frames.push({ isList: false, holdsEntries })
  }

  #openList(): void {
    const parent = this.#frames.at(-1)
    const name = parent && !parent.isList ? this.#name : ''
    const holdsEntries = (parent?.holdsEntries ?? true) && LISTS.has(name)
    this.#frames.push({ isList: true, holdsEntries, above: holdsEntries ? this.#head() : undefined })
    this.#last = undefined
  }

  /** The fields of the open entry before the list that begins here. */
  #head(): Fields | undefined {
    const entry = this.#entry
    if (!entry || this.#at - entry.begin > LONGEST_HEAD) return undefined
    try {
      const ends = '}'.repeat(this.#frames.length - entry.depth)
      return JSON.parse(`${this.#text.slice(entry.begin, this.#at)}null${ends}`) as Fields
    } catch {
      return undefined
    }
  }

  #close(isList: boolean): void {
    if (isList) this.#endOfValue()
    this.#last = undefined
    if ((this.#frames.at(-1)?.isList ?? !isList) !== isList) {
      this.#break('a brace is missing, or one too many')
      return
    }
    this.#frames.pop()
    const entry = this.#entry
    if (!entry || this.#frames.length > entry.depth) return
    this.#entry = undefined
    const text = this.#text.slice(entry.begin, this.#at + 1)
    try {
      this.#visitor.value(JSON.parse(text) as Fields, entry.line, this.#frames.at(-1)?.above)
    } catch (error) {
      const position = Number(/position (\d+)/.exec(String(error))?.[1] ?? 0)
      this.#visitor.broken('broken JSON', entry.line + (text.slice(0, position).match(/\n/g)?.length ?? 0))
    }
  }

  /** A string in a list of entries is a URL; null, a flag or a number is an entry without one. */
  #endOfValue(): void {
    const last = this.#last
    this.#last = undefined
    const list = this.#frames.at(-1)
    if (last === undefined || !(list ? list.isList && list.holdsEntries : !this.#entry)) return
    this.#entry = undefined // It was the owner of this list.
    try {
      const value: unknown = JSON.parse(last)
      this.#visitor.value(typeof value === 'string' ? value : '', this.#line, list?.above)
    } catch {
      this.#visitor.broken('broken JSON', this.#line)
    }
  }

  /** @param isBetween a line that begins a string may be the next entry, unless this is within one */
  #break(why: string, isBetween = false): void {
    this.#isLostBetween = isBetween && !this.#entry && this.#frames.at(-1)?.isList === true
    this.#visitor.broken(why, this.#entry?.line ?? this.#line)
    if (this.#entry) this.#frames = this.#frames.slice(0, this.#entry.depth)
    this.#entry = undefined
    this.#string = undefined
    this.#last = undefined
    this.#isLost = true
  }
}

/** Whether it is, or begins, what JSON has beside strings, lists and objects. */
function isWord(text: string): boolean {
  return /^[\d.eE+-]{1,40}$/.test(text) || ['null', 'true', 'false'].some((word) => word.startsWith(text))
}
