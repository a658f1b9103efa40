import { sql } from 'kysely'
import { firstIdOf } from '../../base/ids.ts'
import type { Filters, Listing, Meanings } from './listings.ts'
import { all, type Lookup, lookup, type Range, rangeOf } from './lookups.ts'
import { anyOf, type Filter, type Question } from './walks.ts'

/** What a list asks for, one after another. */
export function questionsOf<Row extends { readonly id: string }>(
  { table, means, ofPage = [], pages = means, ofPluginAndStatus, statuses }: Listing<Row>,
  { after, before, ...filters }: Partial<Filters>,
): Question[] {
  const [from, below] = [after && firstIdOf(after), before && firstIdOf(before)]
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
    return [{ table, sources, filters: asked, from, below }]
  }
  const inTime = rangeOf(from, below)
  const asked = names.map((name) => valuesOf(name, pages))
  const question: Question = {
    table: 'snapshot',
    sources: [...withAll('snapshot', asked), [WITH_RESULTS], ...(from || below ? [[withResultsIn(inTime)]] : [])],
    filters: asked.filter((_filter, n) => ofPage.includes(names[n]!)),
    ofPages: (page) => {
      const own = names.filter((name) => !ofPage.includes(name)).map((name) => anyOf(valuesOf(name, means), 'it'))
      const matches = [sql`it.snapshot_id = ${page}`, ...inTime(sql`it.id`), ...own]
      return sql`select it.id from archive_result it where ${all(matches)}`
    },
  }
  return below
    ? [
        { ...question, sources: [[WITH_EARLY_RESULTS]], from: below },
        { ...question, below },
      ]
    : [question]
}

/** All rows are a source where no filter is one in the order of ids. */
const withAll = (table: Lookup['table'], sources: readonly Filter[]): readonly Filter[] =>
  sources.some((source) => source.every(({ by }) => by === 'id')) ? sources : [...sources, [lookup({ table }, {})]]

const isFound = (filter: Filter): boolean => filter.every(({ ids }) => ids !== undefined)

const ofResults = { table: 'archive_result', id: 'snapshot_id' } as const
/** Pages that have results: those that are queued, and come first in a list, need not be looked at. */
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
