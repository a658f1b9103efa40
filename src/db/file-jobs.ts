import { sql } from 'kysely'
import { LEASE_SECONDS } from '../engine/machine.ts'
import type { Database } from './database.ts'
import type { Home } from './home.ts'
import { transact, withRetry } from './retry.ts'

// What is deleted on one node may have files on another one, which alone can remove them: a job tells it to. It names
// rows by their ids, never a path.

/** How soon a job that had to wait is tried again, in seconds. */
const AGAIN_S = 10

/** What a result left on its page, but for published files. */
export interface Attempt {
  readonly plugin: string
  readonly hook: string
  readonly attempt: number
}

export interface FileJob {
  readonly id: number
  /** A result is named by the id of its page, and by `detail`. */
  readonly what: 'page' | 'crawl' | 'result'
  readonly ids: readonly string[]
  /** An `Attempt`, as JSON. */
  readonly detail: string | null
  /**
   * A process that may write for what was deleted: it ran before, and a worker notices within its lease that it lost a
   * page, and removes itself what it writes from then on.
   */
  readonly has_writers: boolean
}

/** A node that was asked to remove files. */
export interface AskedNode {
  readonly node_id: string
  readonly name: string
}

type Asked = Pick<FileJob, 'what' | 'ids'> & { readonly detail?: Attempt }

/** Asks those of these nodes that are not ours, and are known, to remove the files of something. @returns those */
export async function askNodes(
  tx: Database,
  { dataDirId }: Pick<Home, 'dataDirId'>,
  nodes: readonly (string | null)[],
  { what, ids, detail }: Asked,
): Promise<AskedNode[]> {
  const others = nodes.filter((id) => id !== null && id !== dataDirId)
  if (others.length === 0) return []
  const { rows } = await sql<AskedNode>`
    insert into file_job (node_id, what, ids, detail)
    select id, ${what}, ${ids}::uuid[], ${detail ? JSON.stringify(detail) : null}
    from node where id = any(${others}::uuid[])
    returning node_id, (select name from node where id = node_id)`.execute(tx)
  return rows
}

/** The next jobs of our node, at most `limit`: those that were tried least recently first. */
export async function nextFileJobs({ db, dataDirId }: Home, limit: number): Promise<FileJob[]> {
  const select = sql<FileJob>`
    select id::int8, what, ids, detail, file_job.asked_at > now() - make_interval(secs => ${LEASE_SECONDS}) and exists (
        select from process p where p.data_dir_id = ${dataDirId} and p.status in ('starting', 'running', 'draining')
          and p.process_type in ('worker', 'hook') and p.created_at <= file_job.asked_at) as has_writers
    from file_job
    where node_id = ${dataDirId} and (tried_at is null or tried_at < now() - make_interval(secs => ${AGAIN_S}))
    order by tried_at nulls first, id limit ${limit}`
  return (await withRetry(db, () => select.execute(db))).rows
}

/** Ends jobs that are done, and notes of the others what they wait for. */
export async function noteFileJobs(
  db: Database,
  done: readonly number[],
  waiting: ReadonlyMap<number, string>,
): Promise<void> {
  await transact(db, async (tx) => {
    if (done.length > 0) await sql`delete from file_job where id = any(${done}::int8[])`.execute(tx)
    if (waiting.size === 0) return
    await sql`
      update file_job set tried_at = now(), why = noted.why
      from unnest(${[...waiting.keys()]}::int8[], ${[...waiting.values()]}::text[]) as noted (id, why)
      where file_job.id = noted.id`.execute(tx)
  })
}

/** What a node is still to remove. */
export interface FilesToRemove {
  readonly node: string
  /** Of so many pages, crawls and results. */
  readonly rows: number
  /** Since it was first asked to. */
  readonly age_s: number
  /** What it waits for, if it has tried. */
  readonly why: string | null
}

/** What all nodes are still to remove, by their names. */
export async function filesToRemove(db: Database): Promise<FilesToRemove[]> {
  const { rows } = await sql<FilesToRemove>`
    select node.name as node, sum(cardinality(ids))::int as rows,
      extract(epoch from now() - min(file_job.asked_at))::float8 as age_s,
      (array_agg(why order by tried_at desc nulls last))[1] as why
    from file_job join node on node.id = file_job.node_id group by node.name order by node.name`.execute(db)
  return rows
}

/** A page of a job whose row is still there: it moved from our node to another one. */
export interface MovedPage {
  readonly id: string
  /** It has come back. */
  readonly is_ours: boolean
  /** It is archived where it is now. */
  readonly is_archived: boolean
}

/** Those of these pages whose rows are still there; locked until the transaction ends, so that nobody begins one. */
export async function lockMoved(
  tx: Database,
  { dataDirId }: Pick<Home, 'dataDirId'>,
  ids: readonly string[],
): Promise<MovedPage[]> {
  const { rows } = await sql<MovedPage>`
    select id, home_node is not distinct from ${dataDirId} as is_ours,
      home_node is not null and status = 'sealed' and outcome in ('archived', 'partial') as is_archived
    from snapshot where id = any(${ids}::uuid[]) order by id for no key update`.execute(tx)
  return rows
}

/** A page of ours, as far as one of its plugins is concerned. */
export interface PluginOfPage {
  readonly is_claimed: boolean
  /** What its results have published. */
  readonly files: readonly string[]
}

/** What a plugin has published on a page; locked as above. Undefined when our node does not have the page. */
export async function lockPlugin(
  tx: Database,
  { dataDirId }: Pick<Home, 'dataDirId'>,
  id: string,
  plugin: string,
): Promise<PluginOfPage | undefined> {
  const { rows } = await sql<PluginOfPage>`
    select claim_token is not null as is_claimed, array(
      select jsonb_object_keys(output_files) from archive_result where snapshot_id = snapshot.id and plugin = ${plugin}
    ) as files
    from snapshot where id = ${id} and home_node = ${dataDirId} for no key update`.execute(tx)
  return rows[0]
}
