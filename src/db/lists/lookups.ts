import { type RawBuilder, sql } from 'kysely'

/** A part of a statement. */
export type Fragment = RawBuilder<unknown>

/** A range in the order of ids: the conditions on one. */
export type Range = (id: Fragment) => readonly Fragment[]

/** From one id on, and below another, if given. */
export const rangeOf =
  (from?: string, below?: string): Range =>
  (id) => [...(from ? [sql`${id} >= ${from}::uuid`] : []), ...(below ? [sql`${id} < ${below}::uuid`] : [])]

/** One value of a filter: where to find the rows that have it. */
export interface Lookup {
  readonly table: 'crawl' | 'snapshot' | 'archive_result' | 'snapshot_tag' | 'page_url'
  /** The column of that table that holds the ids of what is listed. */
  readonly id: 'id' | 'snapshot_id'
  /** Whether a row of that table has the value. Takes the row's name in the statement. */
  readonly is: (row: string) => Fragment
  /** A query for the ids of these rows; without it they are found by checking each. */
  readonly ids?: (range: Range) => Fragment
  /**
   * By `id`: they come newest first, and only those of the range. By `value`: in another order, along an index. Without
   * an order they are searched for.
   */
  readonly by?: 'id' | 'value'
}

type LookupOptions = Pick<Lookup, 'table'> & Partial<Pick<Lookup, 'id'>> & { next?: string; isOfPage?: boolean }

/**
 * The rows of a table with these values in the first columns of an index. Their ids are queried with these columns
 * compared as ranges, and in the order of that index, so that the planner has no other way: for an equality, whose rows
 * are ordered by id alone, it takes a value for frequent, and walks through all rows, newest first. If a row is found
 * by its id, the columns are compared in a way that no index serves: without statistics the planner would read the
 * whole index, too.
 * @param next the column that comes after them in the index
 * @param kept what the index keeps of a column, when that is not the column itself
 * @param isOfPage an index has the rows of a page with these values
 */
export function lookup(
  { table, id = 'id', next = id, isOfPage = false }: LookupOptions,
  values: Readonly<Record<string, Fragment>>,
  kept = (column: Fragment): Fragment => column,
): Lookup {
  const columns = (row: string) => Object.entries(values).map(([name, value]) => [kept(of(row, name)), value] as const)
  const by = next === id ? 'id' : 'value'
  const same = isOfPage ? sql`=` : sql`is not distinct from`
  return {
    table,
    id,
    is: (row) => all(columns(row).map(([column, value]) => sql`${column} ${same} ${value}`)),
    ids: (range) => {
      const within = columns('at').map(([column, value]) => sql`${column} between ${value} and ${value}`)
      const order = [...columns('at').map(([column]) => column), of('at', next)].map((column) => sql`${column} desc`)
      return sql`
        select ${of('at', id)} as id from ${sql.table(table)} at
        where ${all([...within, ...(by === 'id' ? range(of('at', id)) : [])])} order by ${sql.join(order)}`
    },
    by,
  }
}

/** A column of a row that has this name in the statement. */
export const of = (row: string, column: string): Fragment => sql.ref(`${row}.${column}`)

export const all = (conditions: readonly Fragment[]): Fragment => sql.join([sql`true`, ...conditions], sql` and `)
