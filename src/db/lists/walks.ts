import { sql } from 'kysely'
import type { Database } from '../database.ts'
import { all, type Fragment, type Lookup, of, type Range, rangeOf } from './lookups.ts'

/** A filter: a row matches if it has any of these values. */
export type Filter = readonly Lookup[]

/** The ids that are requested. */
export interface Question {
  /** Whose ids. */
  readonly table: Lookup['table']
  /** Each has all ids that match, and maybe others. */
  readonly sources: readonly Filter[]
  /** Conditions on each id that a source has. */
  readonly filters: readonly Filter[]
  /** Only ids from this one on, and below that one. */
  readonly from?: string | undefined
  readonly below?: string | undefined
  /** The ids are of pages: a query for those of the rows of a page that match. */
  readonly ofPages?: (page: Fragment) => Fragment
}

/** How many ids of each value are checked first; ten times as many the next time, up to the maximum. */
const FIRST = 100
const SECOND = 1_000
const MOST = 10_000

/** A part of the ids that match. */
export interface Step {
  readonly ids: Fragment
  /** Ids older than this one were not checked yet; undefined: there are none. */
  readonly reach?: string
  /** How many ids were checked for it, at most. */
  readonly looked: number
}

/**
 * Queries for the ids that match, newest first, each for older ids than the last. Of the next ids of each source that
 * is ordered by id, those are checked that reach back furthest: every other source has more there. Any other source is
 * used when it has few; parts of URLs, which cost more, are searched for in the second step.
 */
export async function* idsInSteps(tx: Database, question: Question): AsyncGenerator<Step> {
  const { sources, filters, from } = question
  const by = (order: Lookup['by']) => sources.filter((source) => source.every((each) => each.by === order))
  let { below } = question
  let inOrder = by('id')
  for (const source of by('value'))
    if (await hasFew(tx, source))
      return yield { ids: matching(question, source, rangeOf(from, below), MOST), looked: MOST }
  for (let size = FIRST; ; size = Math.min(10 * size, MOST)) {
    const rest = rangeOf(from, below)
    let furthest: { readonly source: Filter; readonly reach: string } | undefined
    for (const source of inOrder) {
      const reach = await reachOf(tx, source, rest, size)
      if (!reach) return yield { ids: matching(question, source, rest, size), looked: size }
      if (!furthest || reach < furthest.reach) furthest = { source, reach }
    }
    for (const source of size === SECOND ? by(undefined) : []) {
      const found = await search(tx, source)
      if (found) return yield { ids: matching(question, found, rest, MOST), looked: MOST }
    }
    const { source, reach } = furthest!
    yield { ids: matching(question, source, rangeOf(reach, below), size), reach, looked: size }
    below = reach
    if (size === MOST) inOrder = inOrder.filter((one) => one === source || filters.includes(source))
  }
}

/** The oldest id of a range in which a source has at most this many ids of each value; undefined if it has fewer. */
async function reachOf(tx: Database, source: Filter, within: Range, size: number): Promise<string | undefined> {
  const { rows } = await sql<{ id: string }>`
    select id from (${each(source, within, sql`offset ${size - 1} limit 1`)}) at order by id desc limit 1`.execute(tx)
  return rows[0]?.id
}

async function hasFew(tx: Database, source: Filter): Promise<boolean> {
  const more = source.map(({ ids }) => sql`exists (select from (${ids!(anywhere)} offset ${MOST - 1} limit 1) at)`)
  const { rows } = await sql<{ few: boolean }>`select not (${sql.join(more, sql` or `)}) as few`.execute(tx)
  return rows[0]!.few
}

/** The result of a search, if it is small. A search is too expensive to be repeated. */
async function search(tx: Database, source: Filter): Promise<Filter | undefined> {
  await sql`select set_config('enable_bitmapscan', 'on', true)`.execute(tx)
  const { rows } = await sql<{ ids: string[] | null }>`
    select array_agg(id) as ids from (${each(source, anywhere, sql`limit ${MOST}`)}) at
    having count(*) < ${MOST}`.execute(tx)
  await sql`select set_config('enable_bitmapscan', 'off', true)`.execute(tx)
  return rows[0] && [{ ...source[0]!, ids: () => sql`select unnest(${rows[0]!.ids}::uuid[]) as id` }]
}

const anywhere = rangeOf()

/** Ids of each value. */
const each = (source: Filter, within: Range, which: Fragment): Fragment =>
  sql.join(
    source.map(({ ids }) => sql`(${ids!(within)} ${which})`),
    sql` union all `,
  )

/** The matching ids of a source, at most this many per value. */
function matching({ table, filters, ofPages }: Question, source: Filter, within: Range, size: number): Fragment {
  const others = filters.filter((filter) => filter !== source)
  const isOfRow = ([one]: Filter) => one?.table === table
  const ofRow = others.filter(isOfRow).map((filter) => anyOf(filter, 'row'))
  const row = sql`cross join lateral (select * from ${sql.table(table)} at where at.id = c.id offset 0) row`
  const [id, rows] = ofPages
    ? [sql`it.id`, sql`cross join lateral (${ofPages(sql`c.id`)} offset 0) it`]
    : [sql`c.id`, sql``]
  const elsewhere = others.filter((filter) => !isOfRow(filter)).map((filter) => holds(filter, sql`c.id`))
  return sql`
    select ${id} from (
      select distinct id from (${each(source, within, sql`limit ${size}`)}) at where ${all(within(sql`id`))}
      order by id desc offset 0
    ) c ${ofRow.length > 0 ? row : sql``} ${rows} where ${all([...ofRow, ...elsewhere])} order by c.id desc, ${id} desc`
}

/** Whether the row with this id matches a filter, according to another table. */
function holds(filter: Filter, id: Fragment): Fragment {
  const [{ table, id: column }] = filter as readonly [Lookup]
  return sql`(
    select true from ${sql.table(table)} at where ${of('at', column)} = ${id} and ${anyOf(filter, 'at')} limit 1)`
}

export const anyOf = (filter: Filter, row: string): Fragment =>
  sql`(${sql.join(
    filter.map(({ is }) => is(row)),
    sql` or `,
  )})`
