import { cutEnd, cutUrl, padEnd, padStart } from './fit.ts'
import type { Palette } from './palette.ts'
import { loadWidths, widthOf } from './width.ts'

/** One column of a table. */
export interface Column<Row> {
  readonly name: string
  /** One line, harmless on a terminal. */
  readonly value: (row: Row) => string
  /** The full text, where there is room for all of it. */
  readonly whole?: (row: Row) => string
  /** Only where everything fits. */
  readonly wide?: true
  /** Left out when no row has a value. */
  readonly optional?: true
  /** Where it may be cut when the table is too wide; others keep their width. */
  readonly cut?: 'end' | 'middle'
  readonly right?: true
  readonly style?: (row: Row, palette: Palette) => (text: string) => string
  /** Dropped when there is no room, the highest first; those without one go last. */
  readonly rank?: number
  /** When there is no room, it goes on a line of its own below its row. */
  readonly below?: true
  /** The column whose value this one shows where it has none itself and that column was dropped. */
  readonly insteadOf?: string
}

const BETWEEN = '  '
/** Both ends of a URL matter, wherever it stands. */
const IS_URL = /^https?:\/\/\S+$/i
/** A cell that is cut shorter than this is of no use. */
const LEAST = 12

/** Rows under their headings, at most `width` columns wide: long cells are cut, and columns dropped, as needed. */
export async function table<Row>(
  given: readonly Column<Row>[],
  rows: readonly Row[],
  { width, palette }: { readonly width: number; readonly palette: Palette },
): Promise<string> {
  const columns = given.filter(({ optional, value }) => !optional || rows.some((row) => value(row) !== ''))
  const all = columns.map(({ value }) => rows.map((row) => value(row)))
  await loadWidths(all.flat())
  const natural = columns.map(({ name }, index) => Math.max(name.length, ...all[index]!.map(widthOf)))
  const shown = kept(columns, natural, width)
  const cells = shown.map((index) => filled(columns, all, shown, index))
  const wanted = shown.map((index, at) => Math.max(natural[index]!, ...cells[at]!.map(widthOf)))
  const widths = fitted(
    shown.map((index) => columns[index]!.cut !== undefined),
    wanted,
    width - BETWEEN.length * (shown.length - 1),
  )
  const line = (texts: readonly string[], style: (at: number) => (text: string) => string) =>
    texts
      .map((text, at) => {
        const { cut, right } = columns[shown[at]!]!
        const short = cut === 'middle' || IS_URL.test(text) ? cutUrl(text, widths[at]!) : cutEnd(text, widths[at]!)
        const last = at === texts.length - 1
        const padded = right ? padStart(short, widths[at]!) : last ? short : padEnd(short, widths[at]!)
        return style(at)(padded)
      })
      .join(BETWEEN)
      .trimEnd()
  const head = line(
    shown.map((index) => columns[index]!.name),
    () => palette.dim,
  )
  const plain = (text: string) => text
  const low = columns.flatMap(({ below }, index) => (below && !shown.includes(index) ? [index] : []))
  const body = rows.flatMap((row, number) => {
    const first = line(
      cells.map((column) => column[number]!),
      (at) => columns[shown[at]!]!.style?.(row, palette) ?? plain,
    )
    const rest = low
      .map((index) => all[index]![number]!)
      .filter((text) => text !== '' && !cells.some((column) => column[number] === text))
    return [
      first,
      ...rest.map((text) => palette.dim(BETWEEN + (IS_URL.test(text) ? cutUrl : cutEnd)(text, width - BETWEEN.length))),
    ]
  })
  return `${[head, ...body].join('\n')}\n`
}

/** The columns that stay, by their place: columns whose removal still does not make the others fit go, too. */
function kept<Row>(columns: readonly Column<Row>[], natural: readonly number[], width: number): number[] {
  let shown = columns.map((_, index) => index)
  const least = () =>
    shown.reduce(
      (sum, index) => sum + (columns[index]!.cut ? Math.min(LEAST, natural[index]!) : natural[index]!),
      BETWEEN.length * (shown.length - 1),
    )
  while (least() > width) {
    if (shown.length === 1) break
    const rankOf = (index: number) => columns[index]!.rank ?? 0
    // Without ranks the last one goes: the first one identifies the row.
    const first = shown.reduce((worst, index) => (rankOf(index) >= rankOf(worst) ? index : worst))
    shown = shown.filter((index) => index !== first)
  }
  return shown
}

/** The cells of one column; an empty one shows the value of the column that it replaces. */
function filled<Row>(
  columns: readonly Column<Row>[],
  all: readonly (readonly string[])[],
  shown: readonly number[],
  index: number,
): readonly string[] {
  const other = columns.findIndex(({ name }) => name === columns[index]!.insteadOf)
  if (other === -1 || shown.includes(other)) return all[index]!
  return all[index]!.map((text, row) => text || all[other]![row]!)
}

/**
 * The widths of columns that are too wide together: those that may be cut share the space that the others leave, the
 * narrow ones first.
 */
function fitted(mayCut: readonly boolean[], wanted: readonly number[], width: number): number[] {
  const widths = [...wanted]
  let left = width - wanted.reduce((sum, each, at) => (mayCut[at] ? sum : sum + each), 0)
  const cutting = wanted.flatMap((_, at) => (mayCut[at] ? [at] : [])).sort((a, b) => wanted[a]! - wanted[b]!)
  cutting.forEach((at, place) => {
    widths[at] = Math.max(1, Math.min(wanted[at]!, Math.floor(left / (cutting.length - place))))
    left -= widths[at]!
  })
  return widths
}
