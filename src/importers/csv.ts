import { pipeline, Readable } from 'node:stream'
import { type CsvError, type Info, parse } from 'csv-parse'
import { parse as parseAll } from 'csv-parse/sync'
import { unmarked } from '../base/formula-mark.ts'
import type { Found } from './entry.ts'
import { columnNames, entryOf } from './fields.ts'
import { isWebUrl } from './scheme.ts'
import { urlsInLine } from './text.ts'
import { withHead } from './with-head.ts'

const BATCH = 500
/** How often the rest of a row is read again; after that, its lines are read one by one. */
const DEEPEST = 20
/** The longest row, including the text of its page. */
const LONGEST_ROW = 32_000_000

/**
 * CSV with a row of names, separated by commas, semicolons or tabs, as exported by Pocket, Raindrop, Instapaper,
 * Readwise and others. Without names, the column with a URL in the first row has the URLs, and the next one the titles.
 */
export async function* csv(chunks: AsyncIterable<string>): AsyncGenerator<Found[]> {
  const iterator = chunks[Symbol.asyncIterator]()
  const first = await iterator.next()
  if (first.done) return
  const options = { ...OPTIONS, delimiter: delimiterOf(first.value) }
  const rows = new Rows(options)
  const skipped: Skipped[] = []
  const parser = parse({ ...options, on_skip: into(skipped) })
  // Errors are thrown to whoever iterates.
  pipeline(Readable.from(withHead(first.value, iterator)), parser, () => {})
  for await (const row of parser) {
    rows.take(row as Row)
    if (rows.found.length >= BATCH) yield rows.found.splice(0)
  }
  rows.end(skipped)
  yield rows.found.splice(0)
}

interface Row {
  readonly record: string[]
  readonly info: Info
  /** The text of the row, with the end of its line. */
  readonly raw: string
}

interface Skipped {
  readonly error: CsvError | undefined
  readonly raw: string
}

const into =
  (skipped: Skipped[]) =>
  (error?: CsvError, raw = ''): undefined => {
    skipped.push({ error, raw })
  }

const OPTIONS = {
  info: true,
  raw: true,
  relax_column_count: true,
  relax_quotes: true,
  skip_empty_lines: true,
  skip_records_with_error: true,
  max_record_size: LONGEST_ROW,
} as const

/**
 * Makes entries of rows. Where a quote is not closed, the rows behind it are in its field: they are read again. No
 * option of the parser saves them: of 24 rows with such a quote it gives 1, or all with `quote: false`, which tears
 * fields that hold lines or separators.
 */
class Rows {
  readonly found: Found[] = []
  readonly #options: typeof OPTIONS & { readonly delimiter: string }
  #names: readonly string[] | undefined
  /** The column of the URLs, if nothing names it: a row that has none there is text. */
  #urlAt: number | undefined

  constructor(options: typeof OPTIONS & { readonly delimiter: string }) {
    this.#options = options
  }

  /** @param above the lines before the text that the row was read from */
  take({ record, info, raw }: Row, above = 0, depth = 0): void {
    if (record.some((field) => isTorn(field, raw))) this.#readAgain(raw, above + info.lines, depth)
    else this.#add(record, above + info.lines)
  }

  /** After the last row: reads what the parser could not. */
  end(skipped: readonly Skipped[], above = 0, depth = 0): void {
    for (const { error, raw } of skipped) {
      const line = above + Number(error?.['lines'] ?? 0)
      if (error?.code === 'CSV_QUOTE_NOT_CLOSED') this.#readAgain(raw, line, depth)
      else this.found.push({ broken: error?.message ?? 'broken CSV', line })
    }
  }

  /** @param last the number of its last line */
  #readAgain(raw: string, last: number, depth: number): void {
    const lines = raw.replace(/^[\r\n]+|\r?\n$/g, '').split(/\r?\n/)
    const begin = last - lines.length + 1
    this.found.push({ broken: 'a quotation mark is missing', line: begin })
    const alone = depth < DEEPEST ? 1 : lines.length
    for (const [at, line] of lines.slice(0, alone).entries())
      if (line !== '') this.#add(line.split(this.#options.delimiter).map(unquoted), begin + at)
    const rest = lines.slice(alone).join('\n')
    const skipped: Skipped[] = []
    const rows = parseAll(rest, { ...this.#options, on_skip: into(skipped) }) as unknown as Row[]
    for (const row of rows) this.take(row, begin + alone - 1, depth + 1)
    this.end(skipped, begin + alone - 1, depth + 1)
  }

  #add(record: readonly string[], line: number): void {
    if (!this.#names) {
      this.#names = columnNames(record)
      if (this.#names) return
      const urlAt = record.findIndex(isWebUrl)
      this.#names = record.map((_, at) => (at === urlAt ? 'url' : at === urlAt + 1 ? 'title' : ''))
      this.#urlAt = urlAt
    }
    if (this.#urlAt !== undefined && !isWebUrl(record[this.#urlAt] ?? '')) {
      const text = record.join(this.#options.delimiter)
      if (!text.startsWith('#')) this.found.push(...urlsInLine(text).map((url) => ({ url, line })))
      return
    }
    const fields = Object.fromEntries(this.#names.map((name, at) => [name, unmarked(record[at] ?? '')]))
    this.found.push(entryOf(fields, line))
  }
}

/** Whether a field spans lines whose quote the parser had to guess the end of. It keeps that quote. */
function isTorn(field: string, raw: string): boolean {
  return field.startsWith('"') && field.includes('\n') && !raw.includes(`"${field.replaceAll('"', '""')}"`)
}

const unquoted = (field: string) => field.replace(/^"|"$/g, '').replaceAll('""', '"')

/** The separator of the first line: the one that is most often in it. */
export function delimiterOf(head: string): string {
  const first = head.split(/\r?\n/, 1)[0]!
  const counts = [',', ';', '\t'].map((delimiter) => ({ delimiter, count: first.split(delimiter).length }))
  return counts.reduce((most, each) => (each.count > most.count ? each : most)).delimiter
}
