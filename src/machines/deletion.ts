import { join } from 'node:path'
import { sql } from 'kysely'
import { attemptName, HOSTED_LOG } from '../base/attempt-paths.ts'
import { CRAWL_WACZ, PAGE_WARC } from '../base/crawl-wacz.ts'
import { AppError } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { Removal } from '../base/removal.ts'
import { removeEnds } from '../base/row-log.ts'
import type { Database } from '../db/database.ts'
import { type AskedNode, askNodes } from '../db/file-jobs.ts'
import type { Home } from '../db/home.ts'
import { isThere } from '../db/is-there.ts'
import type { Model } from '../db/lists/listings.ts'
import { mayPause } from '../db/may-pause.ts'
import { heldPages } from '../db/pages-in-work.ts'
import { transact, withRetry } from '../db/retry.ts'
import { lockCrawlsOf, pauseCrawls, pauseSnapshots, wakeCrawls } from './commands.ts'
import { judge, recordVerdicts } from './judge.ts'
import { outputSize } from './outputs.ts'
import { brokenLinks, pathsOf, type ResultFiles } from './result-files.ts'
import { waitForRelease } from './wait-for-release.ts'

// Files are moved aside, rows deleted in one transaction, files removed; in this order, so that a crash leaves either
// everything or nothing. Files left aside are put back or removed, as the rows say, by the next process that opens the
// data dir (reconcileDeletions). Other nodes that have files are asked in that transaction to remove them (`file_job`).

/**
 * The key of the advisory lock that admits one deletion at a time per database, so that nobody reconciles one in
 * progress; the number is arbitrary.
 */
const LOCK = 7_241_202

/** Snapshots per statement, to stay below the statement timeout. */
const BATCH = 500

/** What was deleted: the names of the other nodes that are still to remove files of it. */
export interface Deleted {
  readonly elsewhere: readonly string[]
}

/**
 * Deletes a crawl with its snapshots, their results and all their files. Its worker, if any, loses it first, and is
 * waited for. Throws AppError, and deletes nothing, when the worker does not release it in time, or when the files are
 * behind a symbolic link.
 * @returns undefined when it no longer existed
 */
export async function deleteCrawl(home: Home, id: string): Promise<Deleted | undefined> {
  const itsPages = sql`s.crawl_id = ${id}`
  const held = await withRetry(home.db, () => heldPages(home.db, itsPages))
  await pauseCrawls(home.db, [id])
  const itsHooks = sql`p.crawl_id = ${id} and p.process_type = 'hook'`
  await waitForRelease(home, `crawl ${id}`, itsHooks, itsPages, held)
  return await deleteRow(home, 'crawl', id, async (tx, removal) => {
    const dirs = await sql<{ output_dir: string; home_node: string | null; free: boolean }>`
      select output_dir, home_node, ${FREE} as free from crawl where id = ${id} for update`.execute(tx)
    if (!isFree(dirs.rows, `crawl ${id}`)) return undefined
    const pages = await sql<{ id: string; output_dir: string; free: boolean }>`
      select id, output_dir, claim_token is null as free from snapshot where crawl_id = ${id}
        order by id for update`.execute(tx)
    isFree(pages.rows, `crawl ${id}`)
    for (const { output_dir } of [...dirs.rows, ...pages.rows]) removal.moveAside(output_dir)
    await failpoint('delete.files_aside')
    const ids = pages.rows.map((page) => page.id)
    const asked: AskedNode[] = []
    for (let from = 0; from < ids.length; from += BATCH)
      asked.push(...(await deleteSnapshots(tx, home, ids.slice(from, from + BATCH))))
    asked.push(...(await askNodes(tx, home, [dirs.rows[0]!.home_node, ...idsOf(asked)], { what: 'crawl', ids: [id] })))
    await sql`delete from transition where row_id = ${id}`.execute(tx)
    await sql`delete from crawl where id = ${id}`.execute(tx)
    return elsewhere(asked)
  })
}

/**
 * The same for one snapshot with its results, and for the WACZ of its crawl, which contains the page and is made again
 * only when the crawl is worked on again. Pages found through it stay.
 */
export async function deleteSnapshot(home: Home, id: string): Promise<Deleted | undefined> {
  const held = await withRetry(home.db, () => heldPages(home.db, sql`s.id = ${id}`))
  await pauseSnapshots(home.db, [id])
  await waitForRelease(home, `snapshot ${id}`, sql`p.snapshot_id = ${id}`, sql`s.id = ${id}`, held)
  return await deleteRow(home, 'snapshot', id, async (tx, removal) => {
    const crawls = await lockCrawlsOf(tx, [id])
    const { rows } = await sql<PageOfCrawl & { free: boolean }>`
      select ${PAGE_OF_CRAWL}, ${FREE} as free from snapshot where id = ${id} for update`.execute(tx)
    if (!isFree(rows, `snapshot ${id}`)) return undefined
    const page = rows[0]!
    removal.moveAside(page.output_dir)
    removal.moveAside(`${page.crawl_dir}/${CRAWL_WACZ}`)
    const asked = await deleteSnapshots(tx, home, [id])
    await askNodes(tx, home, [page.crawl_node, ...idsOf(asked)], { what: 'crawl', ids: [page.crawl_id] })
    await wakeCrawls(tx, crawls)
    return elsewhere(asked)
  })
}

/**
 * Deletes one attempt of a hook with its files, and links of its plugin that would be left dangling. Throws AppError,
 * and deletes nothing, while its page is being worked on.
 * @returns undefined when it no longer existed
 */
export async function deleteResult(home: Home, id: string): Promise<Deleted | undefined> {
  return await deleteRow(home, 'archive_result', id, async (tx, removal) => {
    const { rows: pages } = await sql<PageOfCrawl & { claim_token: string | null; http_status: number | null }>`
      select ${PAGE_OF_CRAWL}, claim_token, http_status from snapshot
        where id = (select snapshot_id from archive_result where id = ${id}) for no key update`.execute(tx)
    const { rows } = await sql<ResultFiles & { node_id: string | null }>`
      select id, node_id, plugin, hook_name, attempt, status, output_files from archive_result
      where (snapshot_id, plugin) = (select snapshot_id, plugin from archive_result where id = ${id})`.execute(tx)
    const [page] = pages
    const result = rows.find((row) => row.id === id)
    if (!page || !result) return undefined
    if (page.claim_token || result.status === 'started')
      throw new AppError(`result ${id}: its page is being worked on`, { hint: `snapshot pause ${page.id}, or later` })
    const gone = pathsOf(result)
    for (const path of gone) removal.moveAside(`${page.output_dir}/${path}`)
    if (gone.includes(PAGE_WARC)) removal.moveAside(`${page.crawl_dir}/${CRAWL_WACZ}`)
    for (const { id: other, paths } of brokenLinks(rows.filter((row) => row !== result))) {
      for (const path of paths) removal.moveAside(`${page.output_dir}/${result.plugin}/${path}`)
      await sql`update archive_result set output_files = output_files - ${paths}::text[] where id = ${other}`.execute(
        tx,
      )
    }
    const { plugin, hook_name: hook, attempt } = result
    const node = [result.node_id ?? page.home_node]
    const detail = { plugin, hook, attempt }
    const asked = await askNodes(tx, home, node, { what: 'result', ids: [page.id], detail })
    if (gone.includes(PAGE_WARC)) await askNodes(tx, home, node, { what: 'crawl', ids: [page.crawl_id] })
    await sql`delete from transition where row_id = ${id}`.execute(tx)
    await sql`delete from archive_result where id = ${id}`.execute(tx)
    await sql`update snapshot set output_size = ${outputSize(sql`${page.id}`)} where id = ${page.id}`.execute(tx)
    const { id: pageId, output_dir, http_status: status } = page
    const said = page.home_node === home.dataDirId ? null : status
    await recordVerdicts(tx, await judge(tx, home.dataDir, [{ id: pageId, output_dir, said }]))
    // Last, because what others share is not put back; and while the page is locked, so that no host appends to it.
    removeEnds(join(home.dataDir, page.output_dir, HOSTED_LOG), attemptName(plugin, hook, attempt))
    return elsewhere(asked)
  })
}

/** Puts back or removes what a crash left aside, unless a deletion is in progress. */
export async function reconcileDeletions(home: Home): Promise<void> {
  if (Removal.begun(home.dataDir).length === 0) return
  await home.db.transaction().execute(async (tx) => {
    await mayPause(tx)
    const { rows } = await sql<{ mine: boolean }>`select pg_try_advisory_xact_lock(${LOCK}) as mine`.execute(tx)
    if (rows[0]!.mine) await settleRemovals(tx, home)
  })
}

/** The same, for the holder of the lock. */
async function settleRemovals(tx: Database, { dataDir }: Home): Promise<void> {
  for (const removal of Removal.begun(dataDir)) {
    const [, table, id] = NAME.exec(removal.name) ?? []
    if (table === undefined) continue // Not one of our removals.
    if (await isThere(tx, table as Model['table'], id!)) await removal.putBack()
    else await removal.remove()
  }
  await failpoint('delete.settled')
}

/** The name of a removal: the row that it belongs to. */
const NAME = /^(crawl|snapshot|archive_result)\.([0-9a-f-]{36})$/

async function deleteRow(
  home: Home,
  table: Model['table'],
  id: string,
  work: (tx: Database, removal: Removal) => Promise<Deleted | undefined>,
): Promise<Deleted | undefined> {
  let removal: Removal | undefined
  try {
    const deleted = await transact(home.db, async (tx, again) => {
      await mayPause(tx)
      await sql`select pg_advisory_xact_lock(${LOCK})`.execute(tx)
      if (removal) await settleRemovals(tx, home) // Of the previous try.
      removal = new Removal(home.dataDir, `${table}.${id}`)
      // It took effect, but its answer was lost.
      if (again && !(await isThere(tx, table, id))) return elsewhere([])
      return await work(tx, removal)
    })
    await removal?.remove()
    return deleted
  } catch (error) {
    await reconcileDeletions(home).catch(() => {}) // Otherwise the next process that opens the data dir does it.
    throw error
  }
}

/** A page, and what there is of its crawl, on which node. */
interface PageOfCrawl {
  readonly id: string
  readonly output_dir: string
  readonly home_node: string | null
  readonly crawl_id: string
  readonly crawl_dir: string
  readonly crawl_node: string | null
}

const ofCrawl = (column: string) => sql`(select c.${sql.ref(column)} from crawl c where c.id = snapshot.crawl_id)`
const PAGE_OF_CRAWL = sql`id, output_dir, home_node, crawl_id,
  ${ofCrawl('output_dir')} as crawl_dir, ${ofCrawl('home_node')} as crawl_node`

const FREE = sql`(claim_token is null and status in ('paused', 'sealed'))`

/** False when there is no row; throws AppError when a row is no longer free. */
function isFree(rows: readonly { readonly free: boolean }[], what: string): boolean {
  if (rows.some(({ free }) => !free)) throw new AppError(`${what} was resumed in the meantime: nothing was deleted`)
  return rows.length > 0
}

/**
 * Deletes snapshots with their results and the history of both. A page that nobody has begun may have an index where
 * its crawl is worked on.
 * @returns the other nodes that have files of them
 */
async function deleteSnapshots(tx: Database, { dataDirId }: Home, ids: readonly string[]): Promise<AskedNode[]> {
  await sql`
    delete from transition where row_id = any(array(
      select unnest(${ids}::uuid[])
      union all select id from archive_result where snapshot_id = any(${ids}::uuid[])))`.execute(tx)
  // Results before their pages: the cascade from a page deletes results one page at a time.
  const { rows } = await sql<AskedNode>`
    with files as (
      select id, coalesce(home_node, ${ofCrawl('home_node')}) as node_id from snapshot where id = any(${ids}::uuid[])
      union select snapshot_id, node_id from archive_result where snapshot_id = any(${ids}::uuid[])
    ), asked as (
      insert into file_job (node_id, what, ids)
      select node.id, 'page', array_agg(files.id) from files join node on node.id = files.node_id
      where node.id <> ${dataDirId} group by node.id
      returning node_id
    ), gone as (
      delete from archive_result where snapshot_id = any(${ids}::uuid[])
    )
    select id as node_id, name from node where id in (select node_id from asked)`.execute(tx)
  await sql`delete from snapshot where id = any(${ids}::uuid[])`.execute(tx)
  return rows
}

const idsOf = (nodes: readonly AskedNode[]) => nodes.map(({ node_id }) => node_id)

const elsewhere = (nodes: readonly AskedNode[]): Deleted => ({
  elsewhere: [...new Set(nodes.map(({ name }) => name))].toSorted(),
})
