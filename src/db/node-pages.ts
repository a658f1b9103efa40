import { sql } from 'kysely'
import type { Database } from './database.ts'
import type { Home } from './home.ts'
import { withRetry } from './retry.ts'

// What a node that is gone leaves to others: its pages, batch by batch, then its jobs and its row.

/** What is where the files of a node were. */
export interface LeftThere {
  readonly pages: number
  readonly bytes: number
  /** Pages that it had begun: another node archives them anew. */
  readonly open: number
  readonly file_jobs: number
}

/** How much has its files on a node only. */
export async function leftOn(db: Database, nodeId: string): Promise<LeftThere> {
  const select = sql<LeftThere>`
    select count(*) as pages, coalesce(sum(output_size), 0)::bigint as bytes,
      (select count(*) from snapshot
       where status in ('queued', 'started', 'paused') and home_node = ${nodeId}) as open,
      (select count(*) from file_job where node_id = ${nodeId}) as file_jobs
    from snapshot where status = 'sealed' and home_node = ${nodeId}`
  return (await withRetry(db, () => select.execute(db))).rows[0]!
}

/** The next sealed pages of a node after this one, by id. */
export async function pagesOfNode(db: Database, nodeId: string, after: string, limit: number): Promise<string[]> {
  const select = sql<{ id: string }>`
    select id from snapshot
    where in_index_order() and status = 'sealed' and home_node = ${nodeId} and id > ${after}::uuid
    order by home_node, id limit ${limit}`
  return (await withRetry(db, () => select.execute(db))).rows.map(({ id }) => id)
}

/**
 * Notes that these pages of a node, their results and their crawls have their files here. One that somebody has begun
 * anew stays as it is: it has left that node.
 * @returns how many
 */
export async function adoptPages(
  { db, dataDirId }: Pick<Home, 'db' | 'dataDirId'>,
  nodeId: string,
  ids: readonly string[],
): Promise<number> {
  const update = sql<{ id: string }>`
    with taken as (
      update snapshot set home_node = ${dataDirId}
      where id = any(${ids}::uuid[]) and home_node = ${nodeId} and status is not distinct from 'sealed'
      returning id, crawl_id
    ), crawls as (
      update crawl set home_node = ${dataDirId}
      where id = any(array(select crawl_id from taken)) and home_node = ${nodeId}
    ), results as (
      update archive_result set node_id = ${dataDirId}
      where snapshot_id = any(array(select id from taken)) and node_id = ${nodeId}
    ), shown as ( -- The lists that name the node are written again.
      update archived_page set changed = default where snapshot_id = any(array(select id from taken)))
    select id from taken`
  return (await withRetry(db, () => update.execute(db))).rows.length
}

/**
 * Notes that the files of these pages of a node are nowhere: the pages have failed, and a retry of failed ones runs all
 * their hooks again.
 * @param cause in a line
 * @returns how many
 */
export async function forgetFiles(
  db: Database,
  nodeId: string,
  ids: readonly string[],
  cause: string,
): Promise<number> {
  const update = sql<{ id: string }>`
    with homeless as (
      update snapshot set home_node = null, output_size = 0, outcome = 'failed', cause = ${cause}
      where id = any(${ids}::uuid[]) and home_node = ${nodeId} and status is not distinct from 'sealed' returning id
    ), results as (
      update archive_result set output_files = '{}', output_size = 0, node_id = null
      where snapshot_id = any(array(select id from homeless)) and node_id = ${nodeId})
    select id from homeless`
  return (await withRetry(db, () => update.execute(db))).rows.length
}

/** Hands the removals that a node was asked for to ours: a copy has those files, too. */
export async function adoptJobs({ db, dataDirId }: Pick<Home, 'db' | 'dataDirId'>, nodeId: string): Promise<void> {
  await withRetry(db, () => sql`update file_job set node_id = ${dataDirId} where node_id = ${nodeId}`.execute(db))
}

/**
 * Deletes the row of a node that has no sealed page left, and with it its jobs. What it had begun is anybody's, as that
 * of any id that is no active node. It is told when it comes back.
 * @returns false: it has pages again
 */
export async function deleteNode(db: Database, nodeId: string): Promise<boolean> {
  const deletion = sql`
    with gone as (
      delete from node where id = ${nodeId} and not exists (
        select from snapshot where in_index_order() and status = 'sealed' and home_node = ${nodeId})
      returning id, name
    ), noted as (
      update runner_term set forgotten = gone.name from gone where data_dir_id = gone.id)
    select id from gone`
  return await withRetry(db, async (again) => (await deletion.execute(db)).rows.length > 0 || again)
}
