import { closedAddress } from './closed-address.ts'

const NAME = String.raw`(?:[-\w\u0080-\uffff]|\\(?:[\da-f]{1,6}\s?|[^\n\r\f\da-f]))+`
const QUOTED = String.raw`"(?:\\[\s\S]|[^"\\\n\r\f])*"?|'(?:\\[\s\S]|[^'\\\n\r\f])*'?`
/** A comment, a string, a name and whether its parentheses contain something; or one character. */
const TOKEN = new RegExp(String.raw`/\*[\s\S]*?(?:\*/|$)|(${QUOTED})|(@?${NAME})(\()?|[\s\S]`, 'gi')
// The part in (?=()) is matched as a whole, without backtracking.
const BARE = /(?=(\s*))\1(?=((?:\\[\s\S]|[^"'()\\\s])*))\2\s*(?:\)|$)/y
const BROKEN = /(?:\\[\s\S]|[^)\\])*\)?/y
const ESCAPE = /\\(?:([\da-f]{1,6})(?:\r\n|\s)?|(?:\r\n|[\n\r\f])|([\s\S]))/gi
const PICTURES = /^(?:-webkit-)?image-set$|^image$/
const IN_PICTURES =
  /^(?:url|src|type|calc|(?:-webkit-)?image-set|(?:-\w+-)?(?:repeating-)?(?:linear|radial|conic)-gradient)$/

const plain = (css: string): string =>
  css.replace(ESCAPE, (_all, hex: string | undefined, other = '') =>
    hex ? String.fromCodePoint(Math.min(Number.parseInt(hex, 16) || 0xfffd, 0x10ffff)) : other,
  )
const quoted = (text: string): string =>
  `"${text.replace(/["\\\n\r\f<]/g, (char) => `\\${char.charCodeAt(0).toString(16)} `)}"`

/** CSS with safe addresses, read by its tokens. */
export function closedCss(css: string, base: string): string {
  if (!/[\\@(]/.test(css)) return css
  const open: string[] = []
  let isImport = false
  let written = ''
  TOKEN.lastIndex = 0
  for (let token = TOKEN.exec(css); token; token = TOKEN.exec(css)) {
    const [text, string, word, paren] = token
    const name = word === undefined ? undefined : plain(word).toLowerCase()
    const within = open.at(-1)
    const isAmongPictures = within !== undefined && PICTURES.test(within)
    if (string !== undefined) {
      const isAddress = within === 'url' || isAmongPictures || (isImport && within === undefined)
      written += isAddress ? quoted(closedAddress(plain(string.replace(/^["']|["']$/g, '')), base, isImport)) : text
      isImport = false
    } else if (paren && (name === 'url' || name === 'src')) {
      BARE.lastIndex = BROKEN.lastIndex = TOKEN.lastIndex
      const isString = /^\s*["']/.test(css.slice(TOKEN.lastIndex, TOKEN.lastIndex + 999))
      const bare = isString ? null : BARE.exec(css)
      if (isString) open.push('url')
      else TOKEN.lastIndex = bare ? BARE.lastIndex : TOKEN.lastIndex + (BROKEN.exec(css)?.[0].length ?? 0)
      const address = bare && quoted(closedAddress(plain(bare[2] ?? ''), base, isImport))
      written += isString ? 'url(' : address === null ? 'bad-url' : `url(${address})`
      isImport &&= isString
    } else if (paren) {
      open.push(name ?? '')
      written += isAmongPictures && !IN_PICTURES.test(name ?? '') ? 'none(' : text
    } else {
      if (text === '(') open.push('')
      else if (text === ')') open.pop()
      else if (/[;{}]/.test(text)) isImport = false
      else if (name?.startsWith('@')) isImport = name === '@import'
      written += text.startsWith('/*') ? '/**/' : text
    }
  }
  return written
}
