import { sql } from 'kysely'
import type { Database } from './database.ts'
import { UNSEEN_SECONDS } from './heartbeats.ts'
import { byIndex } from './lists/by-index.ts'
import type { AboutNode, NodeState } from './nodes.ts'

/** A node, with what it does and has. */
export interface ListedNode {
  readonly id: string
  readonly name: string
  readonly state: NodeState
  /** A runner there was heard of lately: by its own heartbeat, since a killed one closes no row. */
  readonly leads: boolean
  readonly heartbeat_at: Date
  /** Seconds, by the database's clock. */
  readonly heartbeat_age_s: number
  readonly version: string
  readonly schema: number | null
  readonly hostname: string | null
  readonly data_dir: string
  readonly free_bytes: number | null
  readonly about: AboutNode | null
  /** What its processes have in work. */
  readonly crawls: number
  readonly pages_in_work: number
  /** The sealed pages whose files are there; null: not counted. */
  readonly pages: number | null
  /** Removals of files that wait for it. */
  readonly file_jobs: number
}

/**
 * All nodes, by name.
 * @param counts `lost`: only the pages of lost nodes are counted, which takes a moment where there are many
 */
export async function listNodes(db: Database, counts: 'all' | 'lost'): Promise<ListedNode[]> {
  const counted = counts === 'all' ? sql`true` : sql`n.state = 'lost'`
  const select = sql<ListedNode>`
    with held as materialized (
      select 'crawl' as what, claimed_by from crawl where claimed_by is not null
      union all select 'page', claimed_by from snapshot where claimed_by is not null
    ), claims as (
      select (select data_dir_id from process where process.id = held.claimed_by) as node_id,
        count(*) filter (where what = 'crawl') as crawls, count(*) filter (where what = 'page') as pages
      from held group by 1
    )
    select n.id, n.name, n.state, n.heartbeat_at, n.version, n.schema, n.data_dir, n.free_bytes, n.about,
      extract(epoch from now() - n.heartbeat_at)::float8 as heartbeat_age_s,
      (select hostname from machine where machine.id = n.machine_id) as hostname,
      exists (
        select from process
        where process.data_dir_id = n.id and process.worker_type = 'worker_runner'
          and process.status in ('running', 'draining')
          and process.heartbeat_at > now() - make_interval(secs => ${UNSEEN_SECONDS})) as leads,
      coalesce((select crawls from claims where node_id = n.id), 0) as crawls,
      coalesce((select pages from claims where node_id = n.id), 0) as pages_in_work,
      case when ${counted} then (
        select count(*) from snapshot where snapshot.status = 'sealed' and snapshot.home_node = n.id) end as pages,
      (select count(*) from file_job where file_job.node_id = n.id) as file_jobs
    from node n order by n.name`
  return (await byIndex(db, (tx) => select.execute(tx))).rows
}

/** The names of all nodes, by their ids. */
export async function nodeNames(db: Database): Promise<Map<string, string>> {
  const { rows } = await sql<{ id: string; name: string }>`select id, name from node`.execute(db)
  return new Map(rows.map(({ id, name }) => [id, name]))
}
