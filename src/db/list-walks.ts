import { type RawBuilder, sql } from 'kysely'
import type { Database } from './database.ts'
import type { Model } from './listings.ts'
import {
  all,
  anyTime,
  type Condition,
  end,
  inOrder,
  isOrdered,
  isPlace,
  lastWithResults,
  type Ordered,
  of,
  type Place,
} from './places.ts'

type Sql = RawBuilder<unknown>

/** A filter: what each of its values means. */
export interface Asked {
  readonly any: readonly (Place | Condition)[]
  /** Of the page of a row, not of the row. */
  readonly isOfPage: boolean
}

/** What rows are asked for: those that match all of these, and whose ids are of this time. */
export interface Question {
  readonly table: Model['table']
  readonly asked: readonly Asked[]
  /** The conditions of a row's id; none for any time. Its page may have any: an adopted one has its bookmark's. */
  readonly times: (id: Sql) => readonly Sql[]
}

/** So few ids are all looked at. */
const FEW = 10_000
const MOST_CHOICES = 100

/**
 * A query for the ids of the first rows, which reads few others. Where few match one of the filters, these are looked
 * at. Else the indexes are walked along that hold ids in their order, newest first: side by side where they are several
 * (then it `merges`), as far as all of them reach. What no such index holds is asked of each id.
 */
export async function firstIds(
  tx: Database,
  question: Question,
  limit: number,
): Promise<{ readonly ids: Sql; readonly merges: boolean }> {
  const { asked, times } = question
  const byPage = isByPage(question)
  const ordered = asked.filter(({ any, isOfPage }) => isOfPage === byPage && any.every(isOrdered))
  const rest = asked.filter((each) => !ordered.includes(each))
  const isOneWalk = rest.length === 0 && ordered.length < 2 && !(byPage && times(sql`id`).length > 0)
  const few = isOneWalk ? undefined : await findFew(tx, question)
  if (few) {
    // All is asked of them: what was found may have changed since.
    const ids = byPage && !few.isOfPage ? amongRows(question, few, limit) : along(question, few, asked, limit)
    return { ids, merges: false }
  }
  const choices = choicesOf(ordered.map(({ any }) => any as readonly Ordered[]))
  const ways =
    choices.length > MOST_CHOICES
      ? [along(question, [], asked, limit)]
      : choices.map((places) => along(question, places, rest, limit))
  return {
    ids: sql.join(
      ways.map((way) => sql`(${way})`),
      sql` union all `,
    ),
    merges: ordered.length > 1,
  }
}

/** The filters of results that are of their page have them go by page. */
export const isByPage = ({ asked }: Question): boolean => asked.some(({ isOfPage }) => isOfPage)

/** All ids that match some of the filters. */
interface Few {
  readonly ids: readonly string[]
  readonly isOfPage: boolean
}

/** The ids that match those filters which few match. A search, which costs more, is made where there is none else. */
async function findFew(tx: Database, { table, asked, times }: Question): Promise<Few | undefined> {
  const found: Few[] = []
  const look = async (one: Asked) => {
    const { any, isOfPage } = one
    const parts = any.map((each) => each.ids ?? newest(each as Place, isOfPage ? anyTime : times))
    const { rows } = await sql<{ ids: string[] }>`
      select coalesce(array_agg(distinct id), '{}') as ids
      from (${sql.join(
        parts.map((part) => sql`(${part} limit ${FEW + 1})`),
        sql` union all `,
      )}) at
      having count(*) <= ${FEW}`.execute(tx)
    if (rows[0]) found.push({ ids: rows[0].ids, isOfPage })
  }
  const isSearch = ({ any }: Asked) => any.some((one) => isPlace(one) && !one.index)
  const places = asked.filter(({ any }) => any.every((one) => one.ids || isPlace(one)))
  for (const one of places.filter((each) => !isSearch(each))) await look(one)
  if (times(sql`id`).length > 0) await look({ any: [inOrder(table, times)], isOfPage: false })
  for (const one of places.filter(isSearch)) if (found.length === 0) await look(one)
  const inAll = [true, false].flatMap((isOfPage) => {
    const same = found.filter((few) => few.isOfPage === isOfPage)
    return same.length === 0 ? [] : [same.reduce(both)]
  })
  return inAll.sort((a, b) => a.ids.length - b.ids.length)[0]
}

function both(a: Few, b: Few): Few {
  const other = new Set(b.ids)
  return { ids: a.ids.filter((id) => other.has(id)), isOfPage: a.isOfPage }
}

/** A query for the ids of a place, of this time where their order tells it. */
function newest({ table, id, is, index }: Place, times: Question['times']): Sql {
  const column = of('at', id)
  const inTime = index?.isById === false ? [] : times(column)
  return sql`
    select ${column} as id from ${sql.table(table)} at where ${all([(index?.within ?? is)('at'), ...inTime])}
    order by ${index?.order('at', 'desc') ?? sql`${column} desc`}`
}

const isOfResults = (means: Condition): boolean => isPlace(means) && means.table === 'archive_result'

/** The first ids along some indexes, or of all, or of the few that were found, that match the rest. */
function along(question: Question, places: readonly Ordered[] | Few, rest: readonly Asked[], limit: number): Sql {
  const { table, times } = question
  const byPage = isByPage(question)
  const base = byPage ? 'snapshot' : table
  const inTime = byPage ? anyTime : times
  const few = 'ids' in places ? places : undefined
  const walked = 'ids' in places || places.length === 0 ? [inOrder(base, () => [])] : places
  const [first] = walked as readonly [Ordered]
  const ofBase = rest.filter(({ isOfPage }) => isOfPage === byPage)
  const needsResults = !few && (byPage || (base === 'snapshot' && ofBase.some(({ any }) => any.some(isOfResults))))
  const within = (id: Sql) => [
    ...inTime(id),
    ...(needsResults ? [sql`${id} <= ${lastWithResults(first, inTime)}`] : []),
  ]
  const isAlone = walked.length === 1
  const key = few ? of('few', 'id') : of('w0', isAlone ? first.id : 'id')
  const order = isAlone && !few ? first.index.order('w0', 'desc') : sql`${key} desc`
  const alone = few ? rowsOf(few, base, 'w0') : sql`${sql.table(first.table)} w0`
  const from = isAlone ? alone : sideBySide(walked, inTime, within)
  const conditions = [
    ...(isAlone ? [first.index.within('w0'), ...within(key)] : []),
    ...ofBase.map((each) => holds(each, { name: 'w0', table: isAlone ? first.table : '' }, key)),
  ]
  if (!byPage) return sql`select ${key} from ${from} where ${all(conditions)} order by ${order} limit ${limit}`
  const id = of('it', 'id')
  const ofRows = rest.filter(({ isOfPage }) => !isOfPage).map((each) => holds(each, { name: 'it', table }, id))
  return sql`
    select ${id} from ${from} cross join lateral (
      select ${id} from ${sql.table(table)} it
      where ${all([sql`${of('it', 'snapshot_id')} = ${key}`, ...times(id), ...ofRows])} offset 0
    ) it where ${all(conditions)} order by ${order}, ${id} desc limit ${limit}`
}

/**
 * The ids that are in all of these places, each read as far as the others reach. In queries of their own, in order: two
 * of one table would be made one, which reads the rows.
 */
function sideBySide(places: readonly Ordered[], times: Question['times'], within: Question['times']): Sql {
  const parts = places.map((place, n) => {
    const id = of('at', place.id)
    const others = places.filter((other) => other !== place)
    const reach = others.map((other) => sql`${id} between ${end(other, 'asc', times)} and ${end(other, 'desc', times)}`)
    return sql`(
      select ${id} as id from ${sql.table(place.table)} at where ${all([place.is('at'), ...within(id), ...reach])}
      order by ${id} desc) ${sql.ref(`w${n}`)} ${n > 0 ? sql`on w0.id = ${of(`w${n}`, 'id')}` : sql``}`
  })
  return sql.join(parts, sql` join `)
}

/** Whether a row matches a filter, which is looked up by the row's id where another table says so. */
function holds({ any }: Asked, row: { readonly name: string; readonly table: string }, id: Sql): Sql {
  const each = any.map((one) =>
    isPlace(one) && one.table !== row.table
      ? sql`(select true from ${sql.table(one.table)} at where ${of('at', one.id)} = ${id} and ${one.is('at')} limit 1)`
      : one.is(row.name),
  )
  return sql`(${sql.join(each, sql` or `)})`
}

/** Every combination with one of each. */
function choicesOf<T>(each: readonly (readonly T[])[]): T[][] {
  return each.reduce<T[][]>((choices, some) => choices.flatMap((choice) => some.map((one) => [...choice, one])), [[]])
}

/** The first of a few results that match what is asked of them and of their pages. */
function amongRows({ table, asked, times }: Question, few: Few, limit: number): Sql {
  const [id, page] = [of('it', 'id'), of('it', 'snapshot_id')]
  const conditions = asked.map((each) => holds(each, { name: 'it', table }, each.isOfPage ? page : id))
  return sql`
    select ${id} from ${rowsOf(few, table, 'it')} where ${all([...times(id), ...conditions])}
    order by ${page} desc, ${id} desc limit ${limit}`
}

/**
 * The rows with these ids, newest first. Each is looked up by itself: where other columns are asked for, too, the
 * planner may take their index, and compare all rows of that with all ids.
 */
const rowsOf = ({ ids }: Few, table: string, name: string): Sql => sql`
  (select unnest(${ids}::uuid[]) as id order by 1 desc) few
  cross join lateral (select * from ${sql.table(table)} at where at.id = few.id offset 0) ${sql.ref(name)}`
