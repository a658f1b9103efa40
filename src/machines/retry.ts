import { type RawBuilder, sql } from 'kysely'
import { uuidv7 } from '../base/ids.ts'
import type { Database } from '../db/database.ts'
import type { Home } from '../db/home.ts'
import { meaningsIn } from '../db/meanings.ts'
import { isAway, type PagesOn, pagesOn } from '../db/nodes.ts'
import type { ResultOfPage } from '../db/results.ts'
import { transact } from '../db/retry.ts'
import type { Outcome, ResultStatus } from '../db/tables.ts'
import { isConsequence } from './cause.ts'
import { lockCrawls, wakeCrawls } from './commands.ts'
import { crawlMachine } from './crawl.ts'
import { idsOf, movedRows, NOBODY } from './moved.ts'
import { snapshotMachine } from './snapshot.ts'
import { CANCELLED } from './verdict.ts'

/** What is to run again: whole crawls and pages (restricted by `failed` and `plugins`), and single results. */
export interface RetryRequest {
  readonly crawls?: readonly string[]
  readonly snapshots?: readonly string[]
  /** Each is the latest attempt of its hook. */
  readonly results?: readonly string[]
  /**
   * Of crawls and pages, only failures: every hook of a page without a copy; of a page with a copy, the hooks that
   * failed or that another failure or a cancellation kept from running. Without this: every hook without output. In
   * both cases also pages that were never started, and every hook of a page that was received only in part: the others
   * used it.
   */
  readonly failed?: boolean
  /** Of crawls and pages, only the hooks of these plugins. */
  readonly plugins?: readonly string[]
}

/** The final states without output. */
export const WITHOUT_OUTPUT: readonly ResultStatus[] = ['failed', 'skipped', 'noresults']

interface Attempt
  extends Pick<ResultOfPage, 'id' | 'snapshot_id' | 'plugin' | 'hook_name' | 'attempt' | 'status' | 'output_str'> {
  readonly truncated: boolean
  /** Of its page. */
  readonly outcome: Outcome | null
  readonly home_node: string | null
  /** It belongs to a crawl or page that was requested as a whole. */
  readonly within: boolean
}

/** What will run again. */
export interface Retried {
  /** The new attempts. */
  readonly results: string[]
  /** How many pages; those of a crawl that was never started are not known yet. */
  readonly snapshots: number
  /** The crawls that were sealed. */
  readonly crawls: string[]
  /** The crawls that were left unchanged: another program archived their pages. */
  readonly adopted: string[]
  /** The other nodes, with pages that will run there. */
  readonly elsewhere: readonly PagesOn[]
  /** Lost nodes, with pages that were left unchanged: the files are there, and may come back. */
  readonly lost: readonly PagesOn[]
}

/**
 * Queues another attempt for hooks of sealed pages; earlier attempts stay, with those of their files that are not made
 * again. The hashes are computed again, too. Pages and crawls that were sealed before anything ran are started. This is
 * a person's way out of a final state. Adopted crawls are left out: today's pages would replace copies that nobody can
 * make again; and pages of lost nodes, whose files may come back. If it is repeated because its answer was lost, it
 * finds nothing sealed any more, and reports less than was done.
 */
export async function retry(home: Pick<Home, 'db' | 'dataDirId'>, request: RetryRequest): Promise<Retried> {
  const { crawls = [], snapshots = [], results = [], failed = false, plugins } = request
  return await transact(home.db, async (tx) => {
    const within = sql`(s.crawl_id = any(${crawls}::uuid[]) or s.id = any(${snapshots}::uuid[]))`
    // Locks the crawls first, as everybody does, so that none is sealed meanwhile.
    const concerned = await lockCrawlsAbove(tx, { crawls, snapshots, results })
    const { rows: untouchable } = await sql<{ id: string }>`
      select id from crawl where id = any(${concerned}::uuid[]) and config ? 'adopted'`.execute(tx)
    const adopted = untouchable.map(({ id }) => id)
    const own = sql`s.crawl_id <> all(${adopted}::uuid[])`
    // On an archived page nothing failed (`verdict.ts`), and most pages of a large crawl are archived.
    const mayCount = failed ? sql`outcome is distinct from 'archived'` : sql`true`
    const { rows } = await sql<Attempt>`
      select distinct on (r.snapshot_id, r.plugin, r.hook_name) r.id, r.snapshot_id, r.plugin, r.hook_name, r.attempt,
        r.status, r.output_str, s.outcome, s.home_node, ${IS_TRUNCATED} as truncated, ${within} as within
      from archive_result r join snapshot s on s.id = r.snapshot_id
      where s.status = 'sealed' and ${own} and s.id = any(array(
        select id from snapshot where crawl_id = any(${crawls}::uuid[]) and ${mayCount}
        union ${pagesOf({ snapshots, results })}))
      order by r.snapshot_id, r.plugin, r.hook_name, r.attempt desc`.execute(tx)
    const named = new Set(results)
    const parts = new Set(rows.filter((row) => row.truncated).map((row) => row.snapshot_id))
    const isWanted = (row: Attempt) =>
      named.has(row.id) ||
      (row.within &&
        (parts.has(row.snapshot_id) || (failed ? isLost(row) : WITHOUT_OUTPUT.includes(row.status))) &&
        (plugins?.includes(row.plugin) ?? true))
    const everything = !failed && plugins === undefined
    const away = new Map(
      rows.flatMap((row) =>
        isAway(row.home_node, home) && (isWanted(row) || (everything && row.within))
          ? [[row.snapshot_id, row.home_node] as const]
          : [],
      ),
    )
    const lost = await onLostNodes(tx, away)
    const again = rows.filter((row) => isWanted(row) && !lost.pages.has(row.snapshot_id))
    const pages = new Set(again.map((row) => row.snapshot_id))
    const elsewhere = await countedOn(tx, away, pages)
    const meanings = await meaningsIn(tx)
    const hashes = rows.filter(
      (row) => meanings.of(row.plugin).hashes && pages.has(row.snapshot_id) && !again.includes(row),
    )
    const attempts = await queueAttempts(tx, again)
    await queueAttempts(tx, hashes)
    for (const id of plugins ? [] : await neverBegun(tx, sql`${within} and ${own}`)) pages.add(id)
    await reopen(tx, 'snapshot', [...pages])
    const { rows: parents } = await sql<{ id: string }>`
      select crawl_id as id from snapshot where id = any(${[...pages]}::uuid[])
      union
      select id from crawl c where ${everything} and id = any(${crawls}::uuid[]) and id <> all(${adopted}::uuid[])
        and (c.next_part is not null or (
          -- In the order of an index that begins with the crawl: it is never looked for in all pages.
          select s.id from snapshot s where s.crawl_id = c.id order by s.url_hash limit 1) is null)`.execute(tx)
    const ids = parents.map(({ id }) => id)
    const reopened = await reopen(tx, 'crawl', ids)
    // The unexpanded rest of a cancelled list continues only with the crawl as a whole, not when a single page is
    // retried.
    const whole = everything ? crawls : []
    await sql`
      update crawl set next_part = null
      where id = any(${reopened}::uuid[]) and id <> all(${whole}::uuid[]) and next_part is not null`.execute(tx)
    await wakeCrawls(tx, ids)
    return { results: attempts, snapshots: pages.size, crawls: reopened, adopted, elsewhere, lost: lost.nodes }
  })
}

/** Part of a truncated body is kept (`verdict.ts`). */
const IS_TRUNCATED = sql`(r.status = 'failed' and r.output_json -> 'truncated' is not distinct from 'true')`

/** Those of these pages, each with its node, whose files are on a node that is lost. */
export async function onLostNodes(
  tx: Database,
  away: ReadonlyMap<string, string>,
): Promise<{ readonly pages: ReadonlySet<string>; readonly nodes: readonly PagesOn[] }> {
  if (away.size === 0) return { pages: new Set(), nodes: [] }
  const { rows } = await sql<{ id: string }>`
    select s.id from snapshot s join node on node.id = s.home_node and node.state = 'lost'
    where s.id = any(${[...away.keys()]}::uuid[])
      and exists (select from archive_result r where r.snapshot_id = s.id and r.node_id is not null)`.execute(tx)
  const pages = new Set(rows.map(({ id }) => id))
  return { pages, nodes: await countedOn(tx, away, pages) }
}

/** How many of these pages are on which of the nodes that they have. */
async function countedOn(
  tx: Database,
  away: ReadonlyMap<string, string>,
  pages: ReadonlySet<string>,
): Promise<PagesOn[]> {
  const counts = new Map<string, number>()
  for (const [page, node] of away) if (pages.has(page)) counts.set(node, (counts.get(node) ?? 0) + 1)
  return await pagesOn(tx, counts)
}

type Named = Required<Pick<RetryRequest, 'crawls' | 'snapshots' | 'results'>>

/** A query for the ids of these pages and of the pages of these results. As an array it makes plans walk indexes. */
export function pagesOf({ snapshots, results }: Omit<Named, 'crawls'>): RawBuilder<unknown> {
  return sql`
    select unnest(${snapshots}::uuid[])
    union select snapshot_id from archive_result where id = any(${results}::uuid[])`
}

/** Locks these crawls, and the crawls of the snapshots and results. */
export async function lockCrawlsAbove(tx: Database, named: Named): Promise<string[]> {
  return await lockCrawls(
    tx,
    sql`id = any(array(
      select unnest(${named.crawls}::uuid[])
      union select crawl_id from snapshot where id = any(array(${pagesOf(named)}))))`,
  )
}

/** Whether this hook must run again for its page to be archived. */
function isLost({ outcome, status, output_str }: Attempt): boolean {
  if (outcome === 'archived') return false
  const wasKept = status === 'skipped' && (isConsequence(output_str) || output_str === CANCELLED)
  return outcome === 'failed' || status === 'failed' || wasKept
}

async function queueAttempts(tx: Database, rows: readonly Attempt[]): Promise<string[]> {
  const ids = rows.map(() => uuidv7())
  await sql`
    insert into archive_result (id, snapshot_id, plugin, hook_name, attempt)
    select * from unnest(${ids}::uuid[], ${rows.map((row) => row.snapshot_id)}::uuid[],
      ${rows.map((row) => row.plugin)}::text[], ${rows.map((row) => row.hook_name)}::text[],
        ${rows.map((row) => row.attempt + 1)}::int[])`.execute(tx)
  return ids
}

/** Sealed pages without any result: their crawl was cancelled before they were claimed. */
async function neverBegun(tx: Database, within: ReturnType<typeof sql>): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from snapshot s where status = 'sealed' and ${within}
      and not exists (select 1 from archive_result r where r.snapshot_id = s.id)`.execute(tx)
  return rows.map(({ id }) => id)
}

/** @returns those that were sealed */
async function reopen(tx: Database, model: 'crawl' | 'snapshot', ids: readonly string[]): Promise<string[]> {
  const again = { as: 'reopened', rows: idsOf(ids), from: ['sealed'], event: 'retry', by: NOBODY } as const
  const { rows } = await sql<{ id: string }>`
    with ${
      model === 'crawl'
        ? movedRows(crawlMachine, { ...again, set: { message: "''" } })
        : movedRows(snapshotMachine, { ...again, set: { outcome: 'null', cause: 'null', http_status: 'null' } })
    }
    select id from reopened`.execute(tx)
  return rows.map(({ id }) => id)
}
