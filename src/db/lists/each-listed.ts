import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../database.ts'
import { inBatches, type Visit } from '../each-row.ts'
import { inOneMoment, once } from './by-index.ts'
import type { Filters, Listing } from './listings.ts'
import { type Place, questionsOf } from './questions.ts'
import { idsInSteps, type Question } from './walks.ts'

/** How many rows are fetched at once, at most; more are shown as they come. */
const MOST_AT_ONCE = 1_000

/** Which rows of a listing. */
export interface Wanted {
  readonly filters?: Partial<Filters>
  /** At most this many; all when not given. */
  readonly limit?: number
  /** Only those that come after this row, whether it is still there or not. */
  readonly last?: Place
  /** Look at about so many ids at most. */
  readonly look?: number
}

/**
 * Passes the rows that match every filter to `visit`, newest first: by id, since ids are ordered by time. Results that
 * are filtered by their page go by page.
 * @returns the id down to which was searched, if `look` did not suffice
 */
export async function eachListed<Row extends { readonly id: string }>(
  db: Database,
  listing: Listing<Row>,
  wanted: Wanted,
  visit: Visit<Row>,
): Promise<string | undefined> {
  const { filters = {}, limit = Number.POSITIVE_INFINITY, last, look = Number.POSITIVE_INFINITY } = wanted
  const most = { limit, look }
  const questions = questionsOf(listing, filters, last)
  if (limit <= MOST_AT_ONCE) {
    const { rows, reach } = await inOneMoment(db, async (tx) => {
      const found: Row[] = []
      const reach = await inSteps(tx, listing, questions, most, async (query) => {
        const { rows } = await query.execute(tx)
        found.push(...rows)
        return rows.length
      })
      return { rows: found, reach }
    })
    if (rows.length > 0) await visit(rows)
    return reach
  }
  return await once(db, (tx) =>
    inSteps(tx, listing, questions, most, async (query) => {
      let shown = 0
      let goesOn = true
      await inBatches(tx, query, async (rows) => {
        shown += rows.length
        goesOn = await visit(rows)
        return goesOn
      })
      return goesOn ? shown : limit
    }),
  )
}

/** @param show returns how many rows a query had, or the limit for no more */
async function inSteps<Row extends { readonly id: string }>(
  tx: Database,
  listing: Listing<Row>,
  questions: readonly Question[],
  { limit, look }: { readonly limit: number; readonly look: number },
  show: (query: RawBuilder<Row>) => Promise<number>,
): Promise<string | undefined> {
  let [shown, looked] = [0, 0]
  for (const question of questions) {
    const order = question.ofPages ? sql`it.snapshot_id desc, it.id desc` : sql`it.id desc`
    for await (const { ids, ...step } of idsInSteps(tx, question)) {
      const atMost = limit === Number.POSITIVE_INFINITY ? sql`` : sql`limit ${limit - shown}`
      shown += await show(sql<Row>`${listing.rows} where it.id = any(array(${ids} ${atMost})) order by ${order}`)
      if (shown >= limit) return undefined
      looked += step.looked
      if (looked >= look && step.reach !== undefined) return step.reach
    }
  }
  return undefined
}
