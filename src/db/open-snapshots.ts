import { sql } from 'kysely'
import { LEASE_SECONDS } from '../engine/machine.ts'
import type { Home } from './home.ts'
import { drains, pageMayWorkHere, workerElsewhere } from './nodes.ts'
import { withRetry } from './retry.ts'

/** The unsealed snapshots of a crawl, as far as its supervisor needs to know. */
export interface OpenSnapshots {
  /** Whether there are any, or will be. */
  readonly open: boolean
  /** Parts of the crawl's list are still to be expanded. */
  readonly listed: boolean
  /** How many are due now that this node may work on, counted up to MOST_DUE, which is more than a pool can use. */
  readonly due: number
  /** How many are claimed under a running lease, counted up to MOST_CLAIMED. */
  readonly claimed: number
  /** Seconds until the first is due, when none is due, claimed or still to come; else 0. */
  readonly rest_s: number
  /** The other node, which works, that is to work on the first one due: it has its files, or it failed here. */
  readonly elsewhere: string | null
  /** This node begins nothing: somebody drains it. */
  readonly drains: boolean
  /** The token of a started crawl's claim: a server that died may have forgotten the start but not the claim. */
  readonly token: string | null
}

export const MOST_DUE = 50
const MOST_CLAIMED = 2_000

/**
 * The open work of a crawl, and the holder of its claim. Each part walks an index for a few steps, however many pages
 * the crawl has.
 */
export async function openSnapshots(
  { db, dataDirId }: Pick<Home, 'db' | 'dataDirId'>,
  crawlId: string,
): Promise<OpenSnapshots> {
  const unfinished = sql`
    from snapshot where in_index_order() and crawl_id = ${crawlId} and status in ('queued', 'started')`
  const inOrder = sql`order by retry_at, id`
  const elsewhere = sql.raw(workerElsewhere('snapshot', `'${dataDirId}'`))
  const isDrained = sql.raw(drains(`'${dataDirId}'`))
  const isHere = sql.raw(`(not ${drains(`'${dataDirId}'`)} and ${pageMayWorkHere('snapshot', `'${dataDirId}'`)})`)
  const select = sql<OpenSnapshots>`
    with counted as materialized (
      select (select claim_token from crawl where id = ${crawlId} and status = 'started') as token,
             exists (select 1 from crawl where id = ${crawlId} and next_part is not null) as listed,
             ${isDrained} as drains,
             coalesce((select true ${unfinished} ${inOrder} limit 1),
                      (select true from snapshot where crawl_id = ${crawlId} and status = 'paused' limit 1),
                      false) as there,
             (select count(*) from (
                select ${unfinished} and retry_at <= now() and ${isHere}
                ${inOrder} limit ${sql.lit(MOST_DUE)}) as ready) as due,
             (select case when not ${isHere} then ${elsewhere} end from (
                select id, home_node, attempts, retry_at ${unfinished} and retry_at <= now() ${inOrder} limit 1
              ) as snapshot) as elsewhere,
             (select count(*) from (
                select ${unfinished} and claim_token is not null
                  and retry_at > now() and retry_at <= now() + make_interval(secs => ${2 * LEASE_SECONDS})
                ${inOrder} limit ${sql.lit(MOST_CLAIMED)}) as held) as claimed
    )
    select token, listed, there or listed as open, due, claimed, elsewhere, drains,
           case when listed or due + claimed > 0 then 0
                else extract(epoch from coalesce((select min(retry_at) ${unfinished}), '9999-01-01') - now())
           end as rest_s
    from counted`
  const { rows } = await withRetry(db, () => select.execute(db))
  return rows[0]!
}
