import { scanHtml } from '../../browse/html/scan-html.ts'

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/))
/** Elements whose content is not text of the page. */
const SILENT = words('script style noscript title select datalist textarea object')
/** Elements that start a new line. */
const LINES = words(
  `address article aside blockquote body br button caption dd details dialog div dl dt fieldset figcaption figure footer
   form h1 h2 h3 h4 h5 h6 header hr li main menu nav ol option p pre section summary table tbody tfoot thead tr ul`,
)
/** Elements that are separated by a tab. */
const CELLS = words('td th')
const NAMES: ReadonlySet<string> = new Set([...SILENT, ...LINES, ...CELLS])
const PARAGRAPHS = words('article blockquote dl figure h1 h2 h3 h4 h5 h6 ol p pre section table ul')

/**
 * The text of a page: lines stay lines, paragraphs are separated by empty lines, and the spaces of `pre` are kept. In
 * one pass, whatever the page's size.
 */
export function textOf(html: string): string {
  const pieces: string[] = []
  let silent: string | undefined
  let pre = 0
  const follows = (pattern: RegExp) => pattern.test(pieces.at(-1) ?? '\n')
  const edge = (name: string) => {
    if (PARAGRAPHS.has(name)) pieces.push('\n\n')
    else if (name === 'br' || (pre === 0 && !follows(/\n$/))) pieces.push('\n')
  }
  scanHtml(html, {
    names: NAMES,
    open(name) {
      if (silent === undefined && SILENT.has(name)) silent = name
      if (silent !== undefined) return
      if (!CELLS.has(name)) edge(name)
      else if (!follows(/\n$/)) pieces.push('\t')
      if (name === 'pre') pre++
    },
    close(name) {
      if (silent === name) silent = undefined
      else if (silent === undefined && !CELLS.has(name)) {
        edge(name)
        if (name === 'pre') pre = Math.max(0, pre - 1)
      }
    },
    text(text) {
      if (silent !== undefined) return
      const shown = pre > 0 ? text : text.replace(/\s+/g, ' ')
      const piece = pre === 0 && follows(/\s$/) ? shown.trimStart() : shown
      if (piece !== '') pieces.push(piece)
    },
  })
  return pieces
    .join('')
    .replace(/(?<![\t ])[\t ]+$/gm, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}
