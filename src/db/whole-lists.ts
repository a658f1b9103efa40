import { type RawBuilder, sql } from 'kysely'
import { type Asked, isByPage, type Question } from './list-walks.ts'
import { isPlace, of } from './places.ts'

type Sql = RawBuilder<unknown>

/** The rows `it` that match, of all: in whichever way the server finds them, which it does best from page to row. */
export function wholeOf(question: Question): { readonly join: Sql; readonly conditions: readonly Sql[] } {
  const { table, asked, times } = question
  return {
    join: isByPage(question) ? sql`join snapshot page on page.id = it.snapshot_id` : sql``,
    conditions: [
      ...asked.map((each) => (each.isOfPage ? ofRow(each, 'page', 'snapshot') : ofRow(each, 'it', table))),
      ...times(sql`it.id`),
    ],
  }
}

/** The values are asked for in one query: several would each be read once a row, where they are too many to hash. */
function ofRow({ any }: Asked, row: string, table: string): Sql {
  const [one] = any
  const isElsewhere = one && isPlace(one) && one.table !== table
  const each = any.map(({ is }) => is(isElsewhere ? 'at' : row, !isElsewhere))
  const matches = sql`(${sql.join(each, sql` or `)})`
  if (!isElsewhere) return matches
  return sql`${of(row, 'id')} in (select ${of('at', one.id)} from ${sql.table(one.table)} at where ${matches})`
}
