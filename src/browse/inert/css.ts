import { type CSSToken, TokenType, tokenizer } from '@csstools/css-tokenizer'
import { NOWHERE } from './nowhere.ts'

/**
 * Replaces an address in a style sheet.
 * @param isSheet whether it is imported as a style sheet
 */
export type ShownInCss = (url: string, isSheet: boolean) => string

/** Functions in which a string is an address. */
const SETS: ReadonlySet<string> = new Set(['image-set', '-webkit-image-set', 'image'])
/** Functions that select none of the strings in them: for others, such as `var()`, the result is unknown. */
const IN_SETS =
  /^(?:url|src|type|calc|image-set|-webkit-image-set|(?:-\w+-)?(?:repeating-)?(?:linear|radial|conic)-gradient)$/
/** CSS without functions, strings, escapes or at-rules. */
const PLAIN = /^[^\\<(@"']*$/
const NAME = /^[-\w]+$/

/**
 * Replaces the addresses in CSS (a sheet, a list of declarations or one value), which is read by the tokens of the
 * standard. The result is never markup, wherever it is placed: no `<` in it begins a tag or a comment. Applied to its
 * own result, it changes nothing if `shown` keeps its own addresses.
 */
export function inertCss(text: string, shown: ShownInCss): string {
  return PLAIN.test(text) ? text : new Writer(text, shown).written()
}

class Writer {
  readonly #next: () => CSSToken
  readonly #shown: ShownInCss
  readonly #pieces: string[] = []
  /** The function or bracket of each open parenthesis. */
  readonly #open: string[] = []
  /** An `@import` or `@namespace` whose address has not come yet. */
  #rule = ''

  constructor(css: string, shown: ShownInCss) {
    const tokens = tokenizer({ css })
    this.#next = () => tokens.nextToken()
    this.#shown = shown
  }

  written(): string {
    for (let token = this.#next(); token[0] !== TokenType.EOF; token = this.#next()) {
      const piece = this.#written(token)
      if (this.#pieces.at(-1) === '<' && /^[a-z/!?]/i.test(piece)) this.#pieces.push(' ')
      this.#pieces.push(piece)
    }
    return this.#pieces.join('')
  }

  #written(token: CSSToken): string {
    switch (token[0]) {
      case TokenType.String:
        return this.#string(token[1], token[4].value)
      case TokenType.URL:
        return this.#url(token[4].value)
      case TokenType.Function:
        return this.#function(token[1], token[4].value.toLowerCase())
      case TokenType.AtKeyword: {
        const name = token[4].value.toLowerCase()
        this.#rule = /^(?:import|namespace)$/.test(name) ? name : ''
        return NAME.test(name) ? `@${name}` : escaped(token[1])
      }
      case TokenType.Comment:
        // A removed token must not join the words around it.
        return /[\s;{}]$/.test(this.#pieces.at(-1) ?? ';') ? '' : '/**/'
      case TokenType.CDO:
      case TokenType.CDC:
        return ' '
      // Browsers drop these together with the declaration around them.
      case TokenType.BadURL:
        return 'bad-url'
      case TokenType.BadString:
        return 'bad-string'
      case TokenType.OpenParen:
        this.#open.push('')
        return '('
      case TokenType.CloseParen:
        this.#open.pop()
        return ')'
      case TokenType.Semicolon:
      case TokenType.OpenCurly:
      case TokenType.CloseCurly:
        this.#rule = ''
        return token[1]
      default:
        return escaped(token[1])
    }
  }

  #string(raw: string, value: string): string {
    const within = this.#open.at(-1)
    if (this.#rule !== '' && within === undefined) {
      const isImport = this.#rule === 'import'
      this.#rule = ''
      return quoted(isImport ? this.#shown(value, true) : value)
    }
    if (within !== undefined && SETS.has(within)) return `url(${quoted(this.#shown(value, false))})`
    return /[\\<]/.test(raw) || raw.length < 2 || raw.at(-1) !== raw[0] ? quoted(value) : raw
  }

  #function(raw: string, name: string): string {
    const within = this.#open.at(-1)
    if (name === 'url' || name === 'src') return this.#address()
    this.#open.push(name)
    if (within !== undefined && SETS.has(within) && !IN_SETS.test(name)) return 'none('
    // Custom names are case-sensitive.
    return NAME.test(name) && !name.startsWith('--') ? `${name}(` : escaped(raw)
  }

  /** Reads the content of `url(` or `src(`: a string, and perhaps modifiers. */
  #address(): string {
    let token = this.#next()
    while (token[0] === TokenType.Whitespace || token[0] === TokenType.Comment) token = this.#next()
    if (token[0] === TokenType.String) {
      const url = this.#url(token[4].value)
      this.#open.push('url')
      return url.slice(0, -1)
    }
    // `src(var(--x))`: the result is unknown.
    for (let depth = 1; token[0] !== TokenType.EOF; token = this.#next()) {
      if (token[0] === TokenType.OpenParen || token[0] === TokenType.Function) depth += 1
      else if (token[0] === TokenType.CloseParen) depth -= 1
      if (depth === 0) break
    }
    return `url("${NOWHERE}")`
  }

  #url(value: string): string {
    const rule = this.#open.length === 0 ? this.#rule : ''
    this.#rule = ''
    // A namespace is only a name.
    return `url(${quoted(rule === 'namespace' ? value : this.#shown(value, rule === 'import'))})`
  }
}

/** A token as written, its `<` as a numeric escape. A `<` alone is an operator. */
function escaped(raw: string): string {
  return raw.length > 1 ? raw.replace(/\\?</g, '\\3c ') : raw
}

function quoted(value: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is to be escaped.
  return `"${value.replace(/["\\<\0-\x1f\x7f]/g, (char) => `\\${char.charCodeAt(0).toString(16)} `)}"`
}
