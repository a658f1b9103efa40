import { type RawBuilder, sql } from 'kysely'

type Sql = RawBuilder<unknown>

/** What one value of a filter means of a row, whose name in the statement is given. */
export interface Condition {
  /** @param hide the value from the planner, which takes a frequent one to be everywhere, among the newest, too */
  readonly is: (row: string, hide?: boolean) => Sql
  /** A query for the ids of these rows, along an index. */
  readonly ids?: Sql
}

/** Where the ids are that have one value of a filter. */
export interface Place extends Condition {
  readonly table: 'crawl' | 'snapshot' | 'archive_result' | 'snapshot_tag' | 'page_url'
  /** The column of that table that holds them. */
  readonly id: 'id' | 'snapshot_id'
  readonly index?: Index
}

/**
 * An index that holds the rows of each value together. Where its columns are compared as ranges, and rows are asked
 * for in its order, the planner has no other way: for an equality, whose rows are in the order of ids alone, it takes a
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

/**
 * The rows of a table with these values in the columns that an index begins with.
 * @param next the column that comes after them in the index
 * @param kept what the index keeps of a column, when that is not the column itself
 */
export function place(
  { table, id = 'id', next = id }: { table: Place['table']; id?: Place['id']; next?: string },
  values: Readonly<Record<string, Sql>>,
  kept = (column: Sql): Sql => column,
): Place {
  const columns = (row: string) => Object.entries(values).map(([name, value]) => [kept(of(row, name)), value] as const)
  return {
    table,
    id,
    is: (row, hide = false) =>
      all(columns(row).map(([column, value]) => sql`${column} = ${hide ? sql`(select ${value})` : value}`)),
    index: {
      within: (row) => all(columns(row).map(([column, value]) => sql`${column} between ${value} and ${value}`)),
      order: (row, way) => inWay([...columns(row).map(([column]) => column), of(row, next)], way),
      isById: next === id,
    },
  }
}

/** The rows of a table whose id is as said, in the order of their ids. */
export function inOrder(table: Place['table'], within: (id: Sql) => readonly Sql[]): Ordered {
  const is = (row: string) => all(within(of(row, 'id')))
  return { table, id: 'id', is, index: { within: is, order: (row, way) => inWay([of(row, 'id')], way), isById: true } }
}

const inWay = (columns: readonly Sql[], way: 'asc' | 'desc') =>
  sql.join(columns.map((column) => sql`${column} ${sql.raw(way)}`))

export const isPlace = (means: Condition): means is Place => 'table' in means
export const isOrdered = (means: Condition): means is Ordered => 'index' in means && (means as Place).index!.isById

/** A column of a row that has this name in the statement. */
export const of = (row: string, column: string): Sql => sql.ref(`${row}.${column}`)

export const all = (conditions: readonly Sql[]): Sql => sql.join([sql`true`, ...conditions], sql` and `)

type Times = (id: Sql) => readonly Sql[]
export const anyTime: Times = () => []

/** The oldest or newest id of a place, of this time. */
export const end = ({ table, id, index }: Ordered, way: 'asc' | 'desc', times: Times = anyTime) => sql`(
  select ${of('at', id)} from ${sql.table(table)} at where ${all([index.within('at'), ...times(of('at', id))])}
  order by ${index.order('at', way)} limit 1)`

/** No later page of a place has results: those that are queued, and come first in a list, need not be looked at. */
export const lastWithResults = (place: Ordered, times: Times = anyTime) => sql`(
  select r.snapshot_id from archive_result r where r.snapshot_id <= ${end(place, 'desc', times)}
  order by r.snapshot_id desc limit 1)`
