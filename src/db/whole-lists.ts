import { type RawBuilder, sql } from 'kysely'
import type { Asked, Question } from './list-walks.ts'
import { all, inOrder, isPlace, lastWithResults, of } from './places.ts'

/** What the row `it` matches: for all rows that do, in whichever way the server finds them. */
export function wholeOf({ table, asked, times }: Question): RawBuilder<unknown>[] {
  const [ofRow, ofPage] = [asked.filter(({ isOfPage }) => !isOfPage), asked.filter(({ isOfPage }) => isOfPage)]
  const pages = sql`
    select page.id from snapshot page where ${all(ofPage.map((each) => matches(each, 'page', 'snapshot')))}
      and page.id <= ${lastWithResults(inOrder('snapshot', () => []))}`
  return [
    ...ofRow.map((each) => matches(each, 'it', table)),
    ...(ofPage.length > 0 ? [sql`it.snapshot_id in (${pages})`] : []),
    ...times(sql`it.id`),
  ]
}

function matches({ any }: Asked, row: string, table: string): RawBuilder<unknown> {
  const each = any.map((one) => {
    if (!isPlace(one) || one.table === table) return one.is(row, true)
    const ids = sql`select ${of('at', one.id)} from ${sql.table(one.table)} at where ${one.is('at', true)}`
    return sql`${of(row, 'id')} in (${ids})`
  })
  return sql`(${sql.join(each, sql` or `)})`
}
