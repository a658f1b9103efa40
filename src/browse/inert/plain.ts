import { isPlain } from './allowed.ts'
import { keptAttributes, type Within } from './clean.ts'
import type { Attribute } from './tree.ts'

/**
 * Matches a tag or a text as serializers write them: every parser reads it in the same way, wherever it stands. The
 * count is limited, since an expression has no room to remember where each of millions of attributes began.
 */
const PIECE = /<(\/?)([a-z][a-z0-9]*)((?: [a-z][\w.:-]*(?:="[^"]*")?){0,100})>|[^<>]+/iy
const ATTRIBUTE = / ([^ =]+)(?:="([^"]*)")?/g
/**
 * Escapes that we decode. HTML with others is left to a real parser, except for ampersands that begin none, as in
 * addresses.
 */
const ESCAPED = /&(?:(amp|lt|gt|quot)|nbsp|#160|#39);/g
const UNKNOWN_IN_TEXT = /&(?!(?:amp|lt|gt|quot|nbsp|#160|#39);)/
const UNKNOWN_IN_VALUE = /&(?!(?:amp|lt|gt|quot|nbsp|#160|#39);|[a-zA-Z0-9]+=|[^a-zA-Z0-9#]|$)/
/** Parsers change these. */
const READ_OTHERWISE = /[\0\r]/
const CHARS: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' }
const VOID = /^(?:area|br|col|hr|img|input|source|track|wbr)$/

/**
 * The HTML, with the permitted attributes, if `clean` would change nothing else in it; undefined if that is not
 * certain. However its elements are nested, none of its text becomes markup: no element has its text parsed
 * differently, or starts a separate tree. So the tags decide, in a tenth of the time that trees take.
 * @param change may change the attributes of an element first
 */
export function plainHtml(
  html: string,
  within: Within,
  change: (name: string, attributes: Attribute[]) => void,
): string | undefined {
  if (READ_OTHERWISE.test(html)) return undefined
  const open: string[] = []
  let written = ''
  PIECE.lastIndex = 0
  for (let at = 0; at < html.length; at = PIECE.lastIndex) {
    const [piece, end, tag, given = ''] = PIECE.exec(html) ?? []
    if (piece === undefined) return undefined
    if (tag === undefined) {
      if (UNKNOWN_IN_TEXT.test(piece)) return undefined
      written += piece
      continue
    }
    const name = tag.toLowerCase()
    if (!isPlain(name) || UNKNOWN_IN_VALUE.test(given)) return undefined
    if (end) {
      if (open.pop() !== name || given !== '') return undefined
      written += `</${name}>`
      continue
    }
    const attributes = Array.from(given.matchAll(ATTRIBUTE), ([, key = '', value = '']) => ({
      name: key.toLowerCase(),
      value: value.replace(ESCAPED, (all, char) => CHARS[char] ?? (all === '&#39;' ? "'" : '\u00a0')),
    }))
    // If a name occurs twice, parsers take the first.
    if (new Set(attributes.map((one) => one.name)).size < attributes.length) return undefined
    change(name, attributes)
    written += `<${name}${keptAttributes(attributes, name, 'known', within).map(inQuotes).join('')}>`
    if (!VOID.test(name)) open.push(name)
  }
  return open.length === 0 ? written : undefined
}

const inQuotes = ({ name, value }: Attribute) =>
  ` ${name}="${value.replace(/[&"<>\u00a0]/g, (char) => `&#${char.charCodeAt(0)};`)}"`
