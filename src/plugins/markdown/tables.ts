import type TurndownService from 'turndown'
import type { Element } from './element.ts'

// Turndown passes only the text of the content to a rule. So cells and rows are marked in it, by characters that no
// text has, and the table is made from the marks, in one pass. (The plugins for tables read the whole table again for
// each cell: minutes for 5,000 rows.)
const CELL = '\ufdd0'
const ROW = '\ufdd1'
const HEAD = '\ufdd2'
const MARKS = /[\ufdd0-\ufdd3]/g

const MOST_COLUMNS = 100
/** A table that contains these is for layout rather than data. */
const BLOCKS = 'table,pre,h1,h2,h3,h4,h5,h6,form'

/** Removes characters that could be mistaken for marks. */
export function withoutMarks(html: string): string {
  return html.replace(MARKS, '')
}

/** Tables in GitHub's form; those that are only for layout are replaced by their content. */
export function addTables(service: TurndownService): void {
  const known = new WeakMap<Element, boolean>()
  const isData = (node: Element): boolean => {
    const table = node.closest('table')
    if (!table) return false
    if (!known.has(table)) known.set(table, !table.querySelector(BLOCKS))
    return known.get(table)!
  }
  service.addRule('cell', {
    filter: ['td', 'th'],
    replacement(content, node) {
      const element = node as unknown as Element
      if (!isData(element)) return `\n\n${content}\n\n`
      const span = Math.min(Number(element.getAttribute('colspan')) || 1, MOST_COLUMNS)
      const isHead = element.nodeName === 'TH' || element.closest('thead') !== null
      return cellText(content) + (isHead ? HEAD : '') + CELL.repeat(span)
    },
  })
  service.addRule('row', {
    filter: 'tr',
    replacement: (content, node) => (isData(node as unknown as Element) ? content.replaceAll('\n', '') + ROW : content),
  })
  service.addRule('caption', {
    filter: 'caption',
    replacement: (content, node) => (isData(node as unknown as Element) ? content + ROW : `\n\n${content}\n\n`),
  })
  service.addRule('rows', { filter: ['thead', 'tbody', 'tfoot'], replacement: (content) => content })
  service.addRule('table', {
    filter: 'table',
    replacement: (content, node) => (isData(node as unknown as Element) ? table(content) : `\n\n${content}\n\n`),
  })
}

/** One line: several lines are separated by `<br>`. */
function cellText(content: string): string {
  return content
    .trim()
    .replace(/(?<!\s)\s*\n\s*/g, '<br>')
    .replaceAll('|', '\\|')
}

function table(content: string): string {
  const rows: string[][] = []
  const beside: string[] = []
  for (const line of content.split(ROW)) {
    const cells = line.split(CELL).map((cell) => cell.trim())
    const rest = cells.pop()
    if (rest) beside.push(rest)
    if (cells.length > 0) rows.push(cells)
  }
  const columns = Math.min(
    rows.reduce((most, { length }) => Math.max(most, length), 0),
    MOST_COLUMNS,
  )
  const line = (cells: readonly string[]) =>
    `| ${Array.from({ length: columns }, (_, at) => cells[at]?.replace(HEAD, '') ?? '').join(' | ')} |`
  if (columns === 0) return `\n\n${beside.join('\n\n')}\n\n`
  // Of cells that span columns only the first is marked.
  const head = rows[0]!.every((cell) => cell === '' || cell.endsWith(HEAD)) ? rows.shift()! : []
  const lines = [line(head), `|${' --- |'.repeat(columns)}`, ...rows.map(line)]
  return `\n\n${[...beside, lines.join('\n')].join('\n\n')}\n\n`
}
