import { sql } from 'kysely'
import { shortId } from '../base/words.ts'
import type { Database } from './database.ts'
import type { Home } from './home.ts'
import { transact, withRetry } from './retry.ts'

// Nodes: the data dirs of one database, each on one machine, with its own runner and its own files.

const NODE_STATES = ['active', 'draining', 'lost'] as const
export type NodeState = (typeof NODE_STATES)[number]

/** What a runner reports of its node. */
export interface NodeFacts {
  readonly hostname: string
  readonly version: string
  /** The newest schema that its program knows. */
  readonly schema: number
  /** On the disk of its archive; null: not known. */
  readonly freeBytes: number | null
}

/**
 * Reports that our node is there, and makes its row when it is new: named after its machine, or after its folder, too,
 * where that name is taken. A lost node is active again; one that drains goes on.
 * @returns its state
 */
export async function reportNode(home: Home, facts: NodeFacts): Promise<NodeState> {
  const { db, dataDirId, dataDir, machineId, embedded } = home
  const { hostname, version, schema, freeBytes } = facts
  const folder = dataDir.slice(dataDir.lastIndexOf('/') + 1)
  const names = [hostname, `${hostname}:${folder}`, `${hostname}:${folder}:${dataDirId.slice(-4)}`]
  const report = sql<{ state: NodeState }>`
    insert into node (id, machine_id, data_dir, name, version, schema, free_bytes, is_keeper)
    select ${dataDirId}, ${machineId}, ${dataDir}, name, ${version}, ${schema}, ${freeBytes}, ${embedded}
    from unnest(${names}::text[]) with ordinality as one (name, place)
    where not exists (select from node where node.name = one.name and node.id <> ${dataDirId})
    order by place limit 1
    on conflict (id) do update
    set machine_id = excluded.machine_id, data_dir = excluded.data_dir, version = excluded.version,
      schema = excluded.schema, free_bytes = excluded.free_bytes, is_keeper = excluded.is_keeper,
      heartbeat_at = now(),
      state = case node.state when 'lost' then 'active' else node.state end
    returning state`
  const { rows } = await withRetry(db, () => report.execute(db))
  return rows[0]!.state
}

/**
 * After a data dir was copied with its embedded server: what its rows say of the original is said of the copy from now
 * on, since its files came along. The database of others has other nodes, whose files did not.
 * @param isCopy we have just seen that it was copied: then the only node, from before any reported, is the original
 * @returns whether there was anything to change
 */
export async function inheritNode({ db, embedded, dataDirId }: Home, isCopy = false): Promise<boolean> {
  if (!embedded) return false
  const { rows } = await sql<{ id: string }>`
    select id from node
    where id <> ${dataDirId} and (is_keeper or ${isCopy} and (select count(*) from node) = 1)`.execute(db)
  const former = rows[0]?.id
  if (former === undefined) return false
  await transact(db, async (tx) => {
    // No deadline: an archive may have millions of results.
    await sql`select set_config('statement_timeout', '0', true)`.execute(tx)
    await sql`update archive_result set node_id = ${dataDirId} where node_id = ${former}`.execute(tx)
    await sql`update snapshot set home_node = ${dataDirId} where home_node = ${former}`.execute(tx)
    await sql`update crawl set home_node = ${dataDirId} where home_node = ${former}`.execute(tx)
    await sql`delete from node where id = ${dataDirId}`.execute(tx)
    await sql`update node set id = ${dataDirId} where id = ${former}`.execute(tx)
  })
  return true
}

/**
 * Marks the other nodes lost that have not reported for so long: their open pages are anybody's from then on.
 * @returns their names
 */
export async function loseSilentNodes(
  { db, dataDirId }: Pick<Home, 'db' | 'dataDirId'>,
  seconds: number,
): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    update node set state = 'lost'
    where state in ('active', 'draining') and id <> ${dataDirId}
      and heartbeat_at < now() - make_interval(secs => ${seconds})
    returning name`.execute(db)
  return rows.map(({ name }) => name)
}

/**
 * A condition on a crawl or page with a `home_node`: the node of this id may work on it. It has no home yet, or its
 * home is this node, or one that does not work.
 */
export const mayWorkHere = (table: string, node: string): string =>
  `(${table}.home_node is null or ${table}.home_node = ${node} or not exists (
      select from node where node.id = ${table}.home_node and node.state = 'active'))`

/** The same for a page, which is anybody's, too, as long as no result has files. */
export const pageMayWorkHere = (table: string, node: string): string =>
  `(${mayWorkHere(table, node)} or not exists (
      select from archive_result where snapshot_id = ${table}.id and node_id is not null))`

/** Whether files whose row names this node are on another disk than ours. Null: no node has any. */
export const isAway = (node: string | null, { dataDirId }: Pick<Home, 'dataDirId'>): node is string =>
  node !== null && node !== dataDirId

/** Whether this database has, or has had, other nodes than ours. */
export async function hasOtherNodes({ db, dataDirId }: Pick<Home, 'db' | 'dataDirId'>): Promise<boolean> {
  const { rows } = await sql`select from node where id <> ${dataDirId} limit 1`.execute(db)
  return rows.length > 0
}

/** A node as people are told of it. */
export interface NamedNode {
  readonly id: string
  readonly name: string
  /** Its data dir on its machine; '': not known any more. */
  readonly data_dir: string
  readonly state: NodeState | 'forgotten'
}

/** The nodes with these ids, by id. One without a row was forgotten, and has the end of its id for a name. */
export async function namedNodes(db: Database, ids: Iterable<string>): Promise<Map<string, NamedNode>> {
  const named = new Map<string, NamedNode>()
  for (const id of ids) named.set(id, { id, name: shortId(id), data_dir: '', state: 'forgotten' })
  if (named.size === 0) return named
  const { rows } = await sql<NamedNode>`
    select id, name, data_dir, state from node where id = any(${[...named.keys()]}::uuid[])`.execute(db)
  for (const node of rows) named.set(node.id, node)
  return named
}

/** A node, and how many pages of some have their files there. */
export interface PagesOn extends NamedNode {
  readonly pages: number
}

/** Pages that were counted by the ids of their nodes, in the order of the names of these. */
export async function pagesOn(db: Database, counts: ReadonlyMap<string, number>): Promise<PagesOn[]> {
  const nodes = await namedNodes(db, counts.keys())
  return [...nodes.values()]
    .map((node) => ({ ...node, pages: counts.get(node.id)! }))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
}

/** Looks up the names of the other nodes that rows name. @returns that of a row; '': its files are here, or none */
export async function otherNodes<Row extends { readonly home_node: string | null }>(
  { db, dataDirId }: Pick<Home, 'db' | 'dataDirId'>,
  rows: readonly Row[],
): Promise<(row: Row) => string> {
  const away = rows.flatMap(({ home_node: node }) => (isAway(node, { dataDirId }) ? [node] : []))
  const nodes = await namedNodes(db, new Set(away))
  return ({ home_node: node }) => (node === null ? '' : (nodes.get(node)?.name ?? ''))
}
