import { sql } from 'kysely'
import { UsageError } from '../../base/errors.ts'
import { firstIdOf } from '../../base/ids.ts'
import type { Filters, Listing, Meanings } from './listings.ts'
import { all, type Fragment, type Lookup, lookup, type Range, rangeOf } from './lookups.ts'
import { anyOf, type Filter, type Question } from './walks.ts'

/** A row in a list, for requesting the older ones after it. For a result, whose list may go by page, with its page. */
export interface Place {
  readonly id: string
  readonly snapshot_id?: string
}

/** The queries of a list, one after another. @param last the last row that is known already */
export function questionsOf<Row extends { readonly id: string }>(
  { table, means, ofPage = [], pages = means, ofPluginAndStatus, statuses }: Listing<Row>,
  { after, before, ...filters }: Partial<Filters>,
  last?: Place,
): Question[] {
  const [from, until] = [after && firstIdOf(after), before && firstIdOf(before)]
  const names = Object.keys(filters) as (keyof Meanings)[]
  const valuesOf = (name: keyof Meanings, meanings: Meanings): Filter =>
    [filters[name]].flat().map((value) => (meanings[name] as (value: unknown) => Lookup)(value))
  if (!names.some((name) => ofPage.includes(name))) {
    const { plugins, status = statuses } = filters
    const pairs = ofPluginAndStatus && plugins?.flatMap((plugin) => status.map((one) => ofPluginAndStatus(plugin, one)))
    const others = pairs ? names.filter((name) => name !== 'plugins' && name !== 'status') : names
    const asked = [...others.map((name) => valuesOf(name, means)), ...(pairs ? [pairs] : [])]
    const isOfResults = table === 'snapshot' && asked.some(([one]) => one?.table === 'archive_result')
    const sources = [...withAll(table, asked.filter(isFound)), ...(isOfResults ? [[WITH_RESULTS]] : [])]
    return [{ table, sources, filters: asked, from, below: lower(until, last?.id) }]
  }
  const inTime = rangeOf(from, until)
  const rest = last && afterRow(last)
  const asked = names.map((name) => valuesOf(name, pages))
  const question: Question = {
    table: 'snapshot',
    sources: [
      ...withAll('snapshot', asked.filter(isFound)),
      [WITH_RESULTS],
      ...(from || until ? [[withResultsIn(inTime)]] : []),
    ],
    filters: asked.filter((_filter, n) => ofPage.includes(names[n]!)),
    ofPages: (page) => {
      const own = names.filter((name) => !ofPage.includes(name)).map((name) => anyOf(valuesOf(name, means), 'it'))
      const matches = [sql`it.snapshot_id = ${page}`, ...inTime(sql`it.id`), ...own, ...(rest ? [rest.is] : [])]
      return sql`select it.id from archive_result it where ${all(matches)}`
    },
  }
  return until
    ? [
        { ...question, sources: [[WITH_EARLY_RESULTS]], from: until, below: rest?.pages },
        { ...question, below: lower(until, rest?.pages) },
      ]
    : [{ ...question, below: rest?.pages }]
}

/** The page of the last row may have more. */
function afterRow({ id, snapshot_id: page }: Place): { readonly pages: string; readonly is: Fragment } {
  if (page === undefined) throw new UsageError('the cursor of a list of results needs the page of the result, too')
  return { pages: idAfter(page), is: sql`(it.snapshot_id, it.id) < (${page}::uuid, ${id}::uuid)` }
}

const lower = (one: string | undefined, other: string | undefined) =>
  one === undefined || (other !== undefined && other < one) ? other : one

/** The next possible id. */
function idAfter(id: string): string {
  const hex = (BigInt(`0x${id.replaceAll('-', '')}`) + 1n).toString(16).padStart(32, '0')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** All rows are a source if no filter is one in the order of ids. */
const withAll = (table: Lookup['table'], sources: readonly Filter[]): readonly Filter[] =>
  sources.some((source) => source.every(({ by }) => by === 'id')) ? sources : [...sources, [lookup({ table }, {})]]

const isFound = (filter: Filter): boolean => filter.every(({ ids }) => ids !== undefined)

const ofResults = { table: 'archive_result', id: 'snapshot_id' } as const
/** Pages that have results: queued ones, which come first in a list, need not be checked. */
const WITH_RESULTS = lookup(ofResults, {})

/** Pages with results that have earlier ids, in an index of their own (migration 0036). */
const WITH_EARLY_RESULTS: Lookup = {
  ...ofResults,
  is: () => sql`true`,
  ids: (range) => sql`
    select at.snapshot_id as id from archive_result at
    where ${all([sql`at.id < at.snapshot_id`, ...range(sql`at.snapshot_id`)])} order by at.snapshot_id desc`,
  by: 'id',
}

const withResultsIn = (time: Range): Lookup => ({
  ...ofResults,
  is: () => sql`true`,
  ids: () => sql`
    select at.snapshot_id as id from archive_result at where ${all(time(sql`at.id`))} order by at.id desc`,
  by: 'value',
})
