import { type RawBuilder, sql } from 'kysely'

type Sql = RawBuilder<unknown>

/** What one value of a filter means of a row, whose name in the statement is given. */
export interface Condition {
  readonly is: (row: string) => Sql
}

/** Where the ids are that have one value of a filter. */
export interface Place extends Condition {
  readonly table: 'crawl' | 'snapshot' | 'archive_result' | 'snapshot_tag' | 'page_url'
  /** The column of that table that holds them. */
  readonly id: 'id' | 'snapshot_id'
  readonly index?: Index
}

/**
 * An index that holds the rows of each value together. Where its column is compared as a range, and rows are asked for
 * in its order, the planner has no other way: for an equality, whose rows are in the order of ids alone, it takes a
 * value for frequent, and walks through all rows, newest first, to find what there is of it.
 */
export interface Index {
  readonly within: (row: string) => Sql
  readonly order: (row: string, way: 'asc' | 'desc') => Sql
  /** Are the rows of one value in the order of their ids? */
  readonly isById: boolean
}

/** A place whose index holds the ids of a value in their order. */
export type Ordered = Place & { readonly index: Index & { readonly isById: true } }

/** The rows of a table with this value in a column that an index begins with, and the column that comes next in it. */
export function place(
  { table, id = 'id', next = id }: { table: Place['table']; id?: Place['id']; next?: string },
  column: (row: string) => Sql,
  value: Sql,
): Place {
  return {
    table,
    id,
    is: (row) => sql`${column(row)} = ${value}`,
    index: {
      within: (row) => sql`${column(row)} between ${value} and ${value}`,
      order: (row, way) => sql`${column(row)} ${sql.raw(way)}, ${of(row, next)} ${sql.raw(way)}`,
      isById: next === id,
    },
  }
}

/** The rows of a table whose id is as said, in the order of their ids. */
export function inOrder(table: Place['table'], within: (id: Sql) => readonly Sql[]): Ordered {
  const is = (row: string) => all(within(of(row, 'id')))
  const order = (row: string, way: 'asc' | 'desc') => sql`${of(row, 'id')} ${sql.raw(way)}`
  return { table, id: 'id', is, index: { within: is, order, isById: true } }
}

export const isPlace = (means: Condition): means is Place => 'table' in means
export const isOrdered = (means: Condition): means is Ordered => 'index' in means && (means as Place).index!.isById

/** A column of a row that has this name in the statement. */
export const of = (row: string, column: string): Sql => sql.ref(`${row}.${column}`)

export const all = (conditions: readonly Sql[]): Sql => sql.join([sql`true`, ...conditions], sql` and `)

/** The oldest or newest id of a place: within some time, if any. */
export const end = ({ table, id, index }: Ordered, times: (id: Sql) => readonly Sql[], way: 'asc' | 'desc') => sql`(
  select ${of('at', id)} from ${sql.table(table)} at where ${all([index.within('at'), ...times(of('at', id))])}
  order by ${index.order('at', way)} limit 1)`

/** No later page of a place has results: those that are queued, and come first in a list, need not be looked at. */
export const lastWithResults = (place: Ordered, times: (id: Sql) => readonly Sql[]) => sql`(
  select r.snapshot_id from archive_result r where r.snapshot_id <= ${end(place, times, 'desc')}
  order by r.snapshot_id desc limit 1)`
