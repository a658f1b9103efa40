import { csv } from '../../app/export/csv.ts'
import { oneLine } from '../../base/clean.ts'
import { UsageError } from '../../base/errors.ts'
import { own } from '../../base/own.ts'
import { commaList } from '../names.ts'
import type { GlobalOptions } from '../options.ts'
import { onStdout } from '../screen/palette.ts'
import { type Column, table } from '../screen/table.ts'
import { printRecord, printText, wantsJson } from '../terminal.ts'
import type { Format, PrintOptions } from './formats.ts'
import type { Kind } from './kinds.ts'

/** How rows are shown: one by one as they come, or all as a table. */
export interface Printer<Row> {
  readonly format: Format
  /** Prints one; undefined: tables need all. */
  readonly each: ((row: Row) => void) | undefined
  all(rows: readonly Row[]): Promise<void>
}

/** Throws UsageError for options that exclude each other. */
export function printerOf<Row extends { readonly id: string }>(
  options: GlobalOptions,
  kind: Kind<Row>,
  { wide, output, columns }: PrintOptions,
): Printer<Row> {
  if (options.json && output !== undefined && output !== 'jsonl')
    throw new UsageError(`--json and -o ${output} exclude each other`)
  const asked = wantsJson(options) && !wide ? 'jsonl' : 'table'
  const format = output ?? (options.json ? 'jsonl' : asked)
  const names = columns === undefined ? undefined : commaList(columns)
  if (names?.length === 0) throw new UsageError('--columns takes names of columns, comma-separated')
  const each = format === 'table' || format === 'wide' ? undefined : rowPrinter(kind, format, names)
  const isWide = wide === true || format === 'wide'
  return {
    format,
    each,
    all: async (rows) => {
      if (each) return rows.forEach(each)
      await printTable(kind, rows, { isWide, names })
    },
  }
}

function rowPrinter<Row extends { readonly id: string }>(
  kind: Kind<Row>,
  format: Exclude<Format, 'table' | 'wide'>,
  names: readonly string[] | undefined,
): (row: Row) => void {
  if (format === 'ids') return ({ id }) => printText(`${id}\n`)
  const fieldsOf = (row: Row) => (names === undefined ? Object.entries(kind.record(row)) : chosen(kind, row, names))
  if (format === 'jsonl') return (row) => printRecord(Object.fromEntries(fieldsOf(row)))
  let isFirst = true
  return (row) => {
    const fields = fieldsOf(row)
    if (isFirst) printText(`${fields.map(([name]) => csv(name)).join(',')}\n`)
    isFirst = false
    printText(`${fields.map(([, value]) => csv(value)).join(',')}\n`)
  }
}

/** Fields of the record, or else columns of the table. Throws UsageError for what is neither. */
function chosen<Row extends { readonly id: string }>(
  kind: Kind<Row>,
  row: Row,
  names: readonly string[],
): [string, unknown][] {
  const record = kind.record(row) as Readonly<Record<string, unknown>>
  return names.map((name) => {
    if (Object.hasOwn(record, name)) return [name, own(record, name)]
    const column = kind.columns.find((each) => each.name === name)
    if (column) return [name, column.value(row)]
    const known = new Set([...kind.columns.map((each) => each.name), ...Object.keys(record)])
    throw new UsageError(`there is no column "${name}"`, `there are: ${[...known].join(', ')}`)
  })
}

async function printTable<Row extends { readonly id: string }>(
  kind: Kind<Row>,
  rows: readonly Row[],
  { isWide, names }: { readonly isWide: boolean; readonly names: readonly string[] | undefined },
): Promise<void> {
  const cut = process.stdout.isTTY && !isWide
  const width = cut ? process.stdout.columns || 80 : Number.POSITIVE_INFINITY
  const shown = names?.map((name) => columnOf(kind, name)) ?? kind.columns.filter(({ wide }) => isWide || !wide)
  const columns = isWide ? shown.map((column) => ({ ...column, value: column.whole ?? column.value })) : shown
  process.stdout.write(await table(columns, rows, { width, palette: onStdout }))
}

function columnOf<Row extends { readonly id: string }>(kind: Kind<Row>, name: string): Column<Row> {
  const column = kind.columns.find((each) => each.name === name)
  return column ?? { name, value: (row) => shownField(chosen(kind, row, [name])[0]![1]), cut: 'middle' }
}

function shownField(value: unknown): string {
  if (value instanceof Date) return value.toISOString()
  return value === null || value === undefined ? '' : oneLine(typeof value === 'string' ? value : JSON.stringify(value))
}
