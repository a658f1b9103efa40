import { Tokenizer } from 'htmlparser2'

export interface TagVisitor {
  /** The start tags to report, in lower case; attributes of others are not collected. */
  readonly names: ReadonlySet<string>
  /** Called for every start tag of one of `names`: attributes by lower-case name, entities decoded. */
  open(name: string, attributes: ReadonlyMap<string, string>): void
  /** Called for every end tag of one of `names`. */
  close?(name: string): void
  /** Called for every run of text, in pieces, entities decoded. */
  text?(text: string): void
  /** Called after each other call: true ends the scan. */
  done?(): boolean
}

/** No honest attribute has more pieces (each entity is one), and joining two million takes seconds. */
const MAX_PIECES = 10_000

/**
 * Reads the tags of a page in one pass, without a tree: time and memory are linear in its size whatever it contains
 * (100,000 open elements, an attribute of 10 MB). Comments, scripts and styles contain no tags.
 */
export function scanHtml(html: string, visitor: TagVisitor): void {
  let name = ''
  let wanted = false
  let attribute = ''
  let value = ''
  let pieces = 0
  let attributes = new Map<string, string>()
  const check = () => {
    if (visitor.done?.()) tokenizer.pause()
  }
  const open = () => {
    if (!wanted) return
    visitor.open(name, attributes)
    check()
  }
  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      onopentagname(start, end) {
        name = html.slice(start, end).toLowerCase()
        wanted = visitor.names.has(name)
        if (wanted) attributes = new Map()
      },
      onattribname(start, end) {
        if (wanted) attribute = html.slice(start, end).toLowerCase()
        value = ''
        pieces = 0
      },
      onattribdata(start, end) {
        if (wanted && pieces++ < MAX_PIECES) value += html.slice(start, end)
      },
      onattribentity(codepoint) {
        if (wanted && pieces++ < MAX_PIECES) value += String.fromCodePoint(codepoint)
      },
      onattribend() {
        // The first of two attributes with the same name counts.
        if (wanted && !attributes.has(attribute)) attributes.set(attribute, value)
      },
      onopentagend: open,
      onselfclosingtag: open,
      onclosetag(start, end) {
        if (!visitor.close) return
        const closed = html.slice(start, end).toLowerCase()
        if (!visitor.names.has(closed)) return
        visitor.close(closed)
        check()
      },
      ontext(start, end) {
        visitor.text?.(html.slice(start, end))
      },
      ontextentity(codepoint) {
        visitor.text?.(String.fromCodePoint(codepoint))
      },
      oncdata() {},
      oncomment() {},
      ondeclaration() {},
      onprocessinginstruction() {},
      onend() {},
    },
  )
  tokenizer.write(html)
  if (tokenizer.running) tokenizer.end()
}
