import { csv } from '../../app/export/csv.ts'
import type { Rows } from '../../app/lists.ts'
import { commaList } from '../../app/records/names.ts'
import { oneLine } from '../../base/clean.ts'
import { UsageError } from '../../base/errors.ts'
import { own } from '../../base/own.ts'
import { TABLE_LINES } from '../format.ts'
import type { GlobalOptions } from '../options.ts'
import { onStdout } from '../screen/palette.ts'
import { type Column, table } from '../screen/table.ts'
import { printRecord, printText, readerWantsMore, terminal, wantsJson } from '../terminal.ts'
import type { ListKind } from './list-kind.ts'
import type { Format } from './list-options.ts'

/** How to show rows, as typed: see `listOptions`. */
export interface PrintOptions {
  readonly n?: string
  readonly wide?: boolean
  readonly output?: Format
  readonly columns?: string
}

/** Rows that are there already, or that are read on demand: newest first, at most `limit`. */
type Source<Row> = readonly Row[] | ((limit?: number) => Rows<Row>)

/** Prints rows as these options ask. Throws UsageError for options that exclude each other. */
export function printerOf<Row>(
  options: GlobalOptions,
  kind: ListKind<Row>,
  { n, wide, output: given, columns }: PrintOptions,
) {
  const output = given === 'json' ? 'jsonl' : given
  if (options.json && output !== undefined && output !== 'jsonl')
    throw new UsageError(`--json and -o ${output} exclude each other`)
  const limit = limitOf(n)
  const asked = wantsJson(options) && !wide ? 'jsonl' : 'table'
  const format = output ?? (options.json ? 'jsonl' : asked)
  const names = columns === undefined ? undefined : commaList(columns)
  if (names?.length === 0) throw new UsageError('--columns takes names of columns, comma-separated')
  const isWide = wide === true || format === 'wide'
  const lines = format === 'table' || format === 'wide' ? undefined : linePrinter(kind, format, names)
  const all = async (rows: readonly Row[]) => (lines ? lines(rows) : await printTable(kind, rows, isWide, names))
  return {
    /** Prints all of them. */
    all,
    /** Whether columns may be shown, or only records. */
    hasColumns: !lines || names !== undefined,
    /**
     * Prints as many rows as `-n` allows. Without it: all; in a table, only the first of rows that are read on demand.
     * @param none is printed instead of a table without rows
     */
    list: async (source: Source<Row>, none?: string) => {
      const comes = typeof source === 'function'
      if (comes && lines) {
        for await (const rows of source(limit)) {
          lines(rows)
          if (!(await readerWantsMore())) return
        }
        return
      }
      const found = comes ? (await Array.fromAsync(source(limit ?? TABLE_LINES + 1))).flat() : source.slice(0, limit)
      // Headings without rows are of no use.
      if (found.length === 0 && none !== undefined && !lines) return terminal.say(none)
      const isCut = comes && limit === undefined && found.length > TABLE_LINES
      await all(isCut ? found.slice(0, TABLE_LINES) : found)
      if (isCut) terminal.say(`only the newest ${TABLE_LINES} are shown; -n shows more`)
    },
  }
}

/** The number that `-n` takes. Throws UsageError. */
export function limitOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const count = Number(text)
  if (/^\d+$/.test(text) && count >= 1 && count <= 2 ** 31) return count
  throw new UsageError(`-n takes a whole number above 0, not "${text}"`)
}

type Names = readonly string[] | undefined
type Fields = Readonly<Record<string, unknown>>
/** A field of the records, or a column. */
type Field<Row> = readonly [name: string, value: (row: Row, record: Fields) => unknown]

const recordOf = <Row>(kind: ListKind<Row>, row: Row) => (kind.record?.(row) ?? row) as Fields

/** Prints rows as lines; may be called many times. */
function linePrinter<Row>(kind: ListKind<Row>, format: Format, names: Names): (rows: readonly Row[]) => void {
  if (format === 'ids')
    return (rows) => rows.forEach((row) => void printText(`${own(recordOf(kind, row), kind.idField ?? 'id')}\n`))
  if (format === 'jsonl' && !names) return (rows) => rows.forEach((row) => void printRecord(recordOf(kind, row)))
  const csvLine = (values: readonly unknown[]) => printText(`${values.map(csv).join(',')}\n`)
  let fields: readonly Field<Row>[] = []
  return (rows) => {
    if (fields.length === 0 && rows.length > 0) {
      fields = fieldsOf(kind, rows, names)
      if (format === 'csv') csvLine(fields.map(([name]) => name))
    }
    for (const row of rows) {
      const record = recordOf(kind, row)
      const values = fields.map(([name, value]) => [name, value(row, record)] as const)
      if (format === 'csv') csvLine(values.map(([, value]) => value))
      else printRecord(Object.fromEntries(values))
    }
  }
}

/** All fields of the records of these rows, or those with these names, else columns. Throws UsageError. */
function fieldsOf<Row>(kind: ListKind<Row>, rows: readonly Row[], names: Names): Field<Row>[] {
  const fields = new Set<string>()
  for (const row of rows) for (const name of Object.keys(recordOf(kind, row))) fields.add(name)
  return (names ?? [...fields]).map((name) => {
    // Without a row the fields are unknown.
    if (fields.has(name) || rows.length === 0) return [name, (_row, record) => own(record, name)]
    const column = kind.columns.find((each) => each.name === name)
    if (column) return [name, column.value]
    const known = new Set([...kind.columns.map((each) => each.name), ...fields])
    throw new UsageError(`there is no column "${name}"`, `there are: ${[...known].join(', ')}`)
  })
}

async function printTable<Row>(
  kind: ListKind<Row>,
  rows: readonly Row[],
  isWide: boolean,
  names: Names,
): Promise<void> {
  const cut = process.stdout.isTTY && !isWide
  const width = cut ? process.stdout.columns || 80 : Number.POSITIVE_INFINITY
  const shown = names
    ? fieldsOf(kind, rows, names).map((field) => columnOf(kind, field))
    : kind.columns.filter(({ wide }) => isWide || !wide)
  const columns = isWide ? shown.map((column) => ({ ...column, value: column.whole ?? column.value })) : shown
  process.stdout.write(await table(columns, rows, { width, palette: onStdout }))
}

function columnOf<Row>(kind: ListKind<Row>, [name, value]: Field<Row>): Column<Row> {
  const column = kind.columns.find((each) => each.name === name)
  return column ?? { name, value: (row) => shownField(value(row, recordOf(kind, row))), cut: 'middle' }
}

function shownField(value: unknown): string {
  if (value instanceof Date) return value.toISOString()
  return value === null || value === undefined ? '' : oneLine(typeof value === 'string' ? value : JSON.stringify(value))
}
