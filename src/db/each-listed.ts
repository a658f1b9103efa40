import { type RawBuilder, sql } from 'kysely'
import { firstIdOf } from '../base/ids.ts'
import { byIndex, merging, walking } from './by-index.ts'
import type { Database } from './database.ts'
import { eachRow, type Visit } from './each-row.ts'
import { type Asked, firstIds, isByPage, type Question } from './list-walks.ts'
import type { Filters, Listing, Meanings } from './listings.ts'
import { all } from './places.ts'
import { transact } from './retry.ts'
import { wholeOf } from './whole-lists.ts'

/** More are shown as they come. */
const MOST_AT_ONCE = 1_000
/** More are found in whichever way the server finds all of them. */
const MOST_WALKED = 10_000

/**
 * Passes the rows that match every filter to `visit`, newest first: by id, since ids are made in the order of time.
 * Results that are filtered by their page go by page.
 * @param limit at most this many; all when not given
 */
export async function eachListed<Row extends { readonly id: string }>(
  db: Database,
  listing: Listing<Row>,
  options: { readonly filters?: Partial<Filters>; readonly limit?: number },
  visit: Visit<Row>,
): Promise<void> {
  const { limit } = options
  const isWhole = limit === undefined || limit > MOST_WALKED
  const question = questionOf(listing, options.filters ?? {}, isWhole)
  const order = isByPage(question) ? sql`it.snapshot_id desc, it.id desc` : sql`it.id desc`
  const show = (conditions: readonly RawBuilder<unknown>[], join = sql``) => sql<Row>`
    ${listing.rows} ${join} where ${all(conditions)} order by ${order}
    ${limit === undefined ? sql`` : sql`limit ${limit}`}`
  if (isWhole) {
    const { join, conditions } = wholeOf(question)
    return await eachRow(db, show(conditions, join), visit)
  }
  const { ids, merges } = await byIndex(db, (tx) => firstIds(tx, question, limit))
  const [query, plan] = [show([sql`it.id = any(array(${ids}))`]), merges ? merging : walking]
  if (limit > MOST_AT_ONCE) return await eachRow(db, query, visit, plan)
  // Without a cursor: a cursor is planned for the first tenth of the rows.
  const { rows } = await transact(db, async (tx) => {
    await plan(tx)
    return await query.execute(tx)
  })
  for (const row of rows) if (!(await visit(row))) return
}

function questionOf<Row extends { readonly id: string }>(
  { table, statuses, means, ofPage = [], ofPluginAndStatus }: Listing<Row>,
  { after, before, ...filters }: Partial<Filters>,
  isWhole: boolean,
): Question {
  const names = Object.keys(filters) as (keyof Meanings)[]
  const { plugins, status = statuses } = filters
  const pairs =
    isWhole || names.some((name) => ofPage.includes(name)) || !ofPluginAndStatus
      ? undefined
      : plugins?.flatMap((plugin) => status.map((one) => ofPluginAndStatus(plugin, one)))
  const asked: Asked[] = names
    .filter((name) => !(pairs && (name === 'plugins' || name === 'status')))
    .map((name) => ({
      any: valuesOf(filters[name]).map(means[name] as (value: unknown) => Asked['any'][number]),
      isOfPage: ofPage.includes(name),
    }))
  if (pairs) asked.push({ any: pairs, isOfPage: false })
  const times = (id: RawBuilder<unknown>) => [
    ...(after ? [sql`${id} >= ${firstIdOf(after)}::uuid`] : []),
    ...(before ? [sql`${id} < ${firstIdOf(before)}::uuid`] : []),
  ]
  return { table, asked, times }
}

const valuesOf = (given: unknown): readonly unknown[] => (Array.isArray(given) ? [...new Set(given)] : [given])
