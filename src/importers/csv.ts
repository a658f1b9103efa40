import { pipeline, Readable } from 'node:stream'
import { type CsvError, type Info, parse } from 'csv-parse'
import type { Found } from './entry.ts'
import { entryOf, isUrlName } from './fields.ts'
import { withHead } from './with-head.ts'

const BATCH = 500
/** No row is longer, with the text of its page in it. */
const LONGEST_ROW = 32_000_000

/**
 * CSV with a row of names, separated by commas, semicolons or tabs: Pocket, Raindrop, Instapaper, Readwise, or like
 * them. Without names the column with a URL in the first row has them, and the next one titles.
 */
export async function* csv(chunks: AsyncIterable<string>): AsyncGenerator<Found[]> {
  const iterator = chunks[Symbol.asyncIterator]()
  const first = await iterator.next()
  if (first.done) return
  const found: Found[] = []
  const parser = parse({
    delimiter: delimiterOf(first.value),
    info: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    max_record_size: LONGEST_ROW,
    on_skip: (error?: CsvError) => {
      found.push({ broken: error?.message ?? 'broken CSV', line: Number(error?.['lines'] ?? 0) })
    },
  })
  // What goes wrong is thrown to whoever iterates.
  pipeline(Readable.from(withHead(first.value, iterator)), parser, () => {})
  let names: readonly string[] | undefined
  for await (const row of parser) {
    const { record, info } = row as { record: string[]; info: Info }
    if (!names) {
      const isNames = record.some(isUrlName)
      const urlAt = record.findIndex((field) => /^https?:/i.test(field))
      names = isNames ? record : record.map((_, at) => (at === urlAt ? 'url' : at === urlAt + 1 ? 'title' : ''))
      if (isNames) continue
    }
    const fields = Object.fromEntries(names.map((name, at) => [name, record[at]]))
    found.push(entryOf(fields, info.lines))
    if (found.length >= BATCH) yield found.splice(0)
  }
  yield found.splice(0)
}

/** The separator of the first line: the one that is most often in it. */
export function delimiterOf(head: string): string {
  const first = head.split(/\r?\n/, 1)[0]!
  const counts = [',', ';', '\t'].map((delimiter) => ({ delimiter, count: first.split(delimiter).length }))
  return counts.reduce((most, each) => (each.count > most.count ? each : most)).delimiter
}
