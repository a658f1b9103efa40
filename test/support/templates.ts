/** The longest literal part of each `sql` template in a source; nested templates, too. */
export function templatesIn(source: string): string[] {
  const found: string[] = []
  /** Reads a template from its first backtick to its last one. */
  const template = (from: number, isSql: boolean): number => {
    let [at, part, longest] = [from, '', '']
    for (; source[at] !== '`'; at += 1) {
      if (source.startsWith('${', at)) {
        at = code(at + 2, '}') - 1
        part = ''
      } else {
        if (source[at] === '\\') at += 1
        part += source[at]
      }
      if (part.trim().length > longest.length) longest = part.trim()
    }
    if (isSql && longest.length >= LEAST) found.push(longest)
    return at + 1
  }
  /** Reads code up to `end`. */
  const code = (from: number, end: string): number => {
    let depth = 0
    for (let at = from; at < source.length; at += 1) {
      const comment = /^\/\/.*|^\/\*[\s\S]*?\*\//.exec(source.slice(at, at + 2_000))
      const text = /^'(?:[^'\\\n]|\\.)*'/.exec(source.slice(at, at + 500))
      if (comment) at += comment[0].length - 1
      else if (text) at += text[0].length - 1
      else if (source[at] === end && depth === 0) return at + 1
      else if (source[at] === '{') depth += 1
      else if (source[at] === '}') depth -= 1
      else if (source[at] === '`') at = template(at + 1, /\bsql(<[^`]*>)?$/.test(source.slice(from, at))) - 1
    }
    return source.length
  }
  code(0, '')
  return found
}

/** Shorter parts identify nothing. */
const LEAST = 8
