import type { Fields } from './fields.ts'
import { fieldsBefore, moved, type OpenEntry } from './open-entry.ts'

/** Lists with these names hold entries; all others belong to an entry: its tags, its attachments. */
const LISTS = new Set(' items bookmarks links children collections entries results data list articles urls'.split(' '))
/** The longest entry, including the text of its page. */
const LONGEST = 32_000_000
const UNCLOSED = 'it ends in the middle of an entry'

export interface JsonVisitor {
  /**
   * @param above the fields of the surrounding object that came before its list
   * @param isHolder whether it has lists of entries, which came before; in the value they are empty
   */
  value(value: string | Fields, line: number, above: Fields | undefined, isHolder: boolean): void
  broken(why: string, line: number): void
}

/** An open list or object. */
interface Frame {
  readonly isList: boolean
  /** Whether its values are entries, or lists of entries. */
  readonly holdsEntries: boolean
  readonly above?: Fields | undefined
  /** The entry that this list of entries lies in. */
  readonly owner?: OpenEntry | undefined
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
  /** Of the next character. */
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
  /** There was an entry that was not closed: the indentation tells where another begins. */
  #isIndented = false

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
    if (this.#entry) this.#entry = moved(this.#entry, needed)
    if (this.#string !== undefined) this.#string -= needed
    this.#scan()
    if (this.#entry && this.#entry.head.length + this.#at - this.#entry.begin > LONGEST) {
      this.#break('an entry of more than 32 MB')
      this.#scan()
    }
  }

  end(): void {
    if (this.#entry?.doubt) {
      this.#break(UNCLOSED)
      this.#scan()
    }
    if (this.#isLost) return
    this.#endOfValue()
    if (this.#entry) this.#visitor.broken(UNCLOSED, this.#entry.line)
    else if (this.#frames.length > 0) this.#visitor.broken('it ends too early: a list is not closed', this.#line)
  }

  #scan(): void {
    while (this.#at < this.#text.length) {
      this.#at += 1
      this.#step(this.#text[this.#at - 1]!)
    }
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
    if (!this.#isLostBetween || char !== '"' || !this.#isFirst(this.#at - 1)) return false
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
    this.#break(`not JSON: ${word}${this.#text.slice(this.#at, this.#at + 39).split('\n', 1)[0]}`, true)
  }

  #openString(): void {
    // Only the comma between them is missing.
    if (this.#last !== undefined && this.#frames.at(-1)?.isList !== false) this.#endOfValue()
    this.#string = this.#at - 1
  }

  #inString(char: string): void {
    if (char === '\\') this.#at += 1
    else if (char === '"') {
      this.#last = this.#text.slice(this.#string!, this.#at)
      this.#string = undefined
    }
  }

  #newLine(): void {
    const at = this.#at
    if (this.#string !== undefined) this.#break('a quotation mark is missing', true)
    if (this.#at < at) return
    this.#line += 1
    this.#lineBegin = this.#at
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
    const begin = this.#at - 1
    const isFirst = this.#isFirst(begin)
    if (isFirst) this.#compareIndent(begin - this.#lineBegin)
    if (this.#isLost && !isFirst) return
    this.#isLost = false
    if (this.#isEntryNext) {
      const depth = this.#frames.length
      const indent = isFirst ? begin - this.#lineBegin : this.#indentOfLine()
      this.#entry = { begin, depth, line: this.#line, indent, head: '', doubt: undefined }
    }
    this.#last = undefined
    this.#frames.push({ isList: false, holdsEntries: this.#frames.at(-1)?.holdsEntries ?? true })
  }

  /** Whether an object that begins here is an entry. */
  get #isEntryNext(): boolean {
    const list = this.#frames.at(-1)
    return !list || (list.isList && list.holdsEntries)
  }

  #indentOfLine(): number {
    const line = this.#text.slice(Math.max(0, this.#lineBegin), this.#at)
    return line.length - line.trimStart().length
  }

  /**
   * A line that begins an object within an entry, no further to the right: the entry may lack its end. Some documents
   * have no indentation, though, and the end of the entry tells which it is.
   */
  #compareIndent(indent: number): void {
    const entry = this.#entry
    if (!entry || entry.doubt || this.#line === entry.line || indent > entry.indent) return
    const doubt = { at: this.#at - 1, line: this.#line, lineBegin: this.#lineBegin }
    if (this.#isIndented || this.#isMisplaced()) this.#break(UNCLOSED)
    else this.#entry = { ...entry, doubt }
  }

  /** Whether no valid document has an object here: in an object, but not behind a colon. */
  #isMisplaced(): boolean {
    if (this.#frames.at(-1)?.isList !== false) return false
    let at = this.#at - 2
    while (at >= 0 && this.#text[at]! <= ' ') at -= 1
    return at >= 0 && this.#text[at] !== ':'
  }

  #openList(): void {
    const parent = this.#frames.at(-1)
    const name = parent && !parent.isList ? this.#name : ''
    const holdsEntries = (parent?.holdsEntries ?? true) && LISTS.has(name)
    const owner = holdsEntries ? this.#entry : undefined
    const head = owner ? owner.head + this.#text.slice(owner.begin, this.#at) : ''
    this.#frames.push({
      isList: true,
      holdsEntries,
      above: owner && fieldsBefore(head, this.#frames.length - owner.depth),
      owner: owner && { ...owner, head, doubt: undefined },
    })
    if (owner) this.#entry = undefined
    this.#last = undefined
  }

  #close(isList: boolean): void {
    if (isList) this.#endOfValue()
    this.#last = undefined
    if ((this.#frames.at(-1)?.isList ?? !isList) !== isList) {
      this.#break('a brace is missing, or one too many')
      return
    }
    const owner = this.#frames.pop()?.owner
    if (owner) this.#entry = { ...owner, begin: this.#at - 1 }
    const entry = this.#entry
    if (!entry || this.#frames.length > entry.depth) return
    const isHolder = entry.head !== ''
    if (isHolder && this.#frames.length === 0) {
      this.#entry = undefined // The document itself, with what is in it.
      return
    }
    const text = entry.head + this.#text.slice(entry.begin, this.#at)
    try {
      const fields = JSON.parse(text) as Fields
      this.#entry = undefined
      this.#visitor.value(fields, entry.line, this.#frames.at(-1)?.above, isHolder)
    } catch (error) {
      if (entry.doubt) {
        this.#break(UNCLOSED)
        return
      }
      this.#entry = undefined
      const position = isHolder ? 0 : Number(/position (\d+)/.exec(String(error))?.[1] ?? 0)
      this.#visitor.broken('broken JSON', entry.line + (text.slice(0, position).match(/\n/g)?.length ?? 0))
    }
  }

  /**
   * A string in a list of entries is a URL; null, a flag or a number is an entry without one. But a number in an entry
   * is the id of another one.
   */
  #endOfValue(): void {
    const last = this.#last
    this.#last = undefined
    const list = this.#frames.at(-1)
    if (last === undefined || !(list ? list.isList && list.holdsEntries : !this.#entry)) return
    try {
      const value: unknown = JSON.parse(last)
      if (typeof value === 'number' && list?.owner) return
      this.#visitor.value(typeof value === 'string' ? value : '', this.#line, list?.above, false)
    } catch {
      this.#visitor.broken('broken JSON', this.#line)
    }
  }

  /**
   * Goes back to where it was doubtful that the entry goes on.
   * @param isBetween a line that begins a string may be the next entry, unless this is within one
   */
  #break(why: string, isBetween = false): void {
    const entry = this.#entry
    this.#isLostBetween = isBetween && !entry && this.#frames.at(-1)?.isList === true
    this.#visitor.broken(entry?.doubt ? UNCLOSED : why, entry?.line ?? this.#line)
    if (entry) this.#frames = this.#frames.slice(0, entry.depth)
    this.#entry = undefined
    this.#string = undefined
    this.#last = undefined
    this.#isLost = true
    if (!entry?.doubt) return
    this.#isIndented = true
    this.#at = entry.doubt.at
    this.#line = entry.doubt.line
    this.#lineBegin = entry.doubt.lineBegin
  }
}

/** Whether it is, or begins, what JSON has beside strings, lists and objects. */
function isWord(text: string): boolean {
  return /^[\d.eE+-]{1,40}$/.test(text) || ['null', 'true', 'false'].some((word) => word.startsWith(text))
}
