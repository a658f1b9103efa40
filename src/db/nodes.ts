import { sql } from 'kysely'
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

/** What a report learns. */
export interface Reported {
  readonly state: NodeState
  /** The schema of the database now: a newer program may have changed it. */
  readonly schema: number
  /** A newer program waits to change it, and for our end. */
  readonly isAskedToDrain: boolean
}

/** How long such a wish lasts after it was last said. Longer than it takes until the next report. */
const ASKED_SECONDS = 30

/**
 * Reports that our node is there, and makes its row when it is new: named after its machine, or after its folder, too,
 * where that name is taken. A lost node is active again; one that drains goes on.
 */
export async function reportNode(home: Home, facts: NodeFacts): Promise<Reported> {
  const { db, dataDirId, dataDir, machineId, embedded } = home
  const { hostname, version, schema, freeBytes } = facts
  const folder = dataDir.slice(dataDir.lastIndexOf('/') + 1)
  const names = [hostname, `${hostname}:${folder}`, `${hostname}:${folder}:${dataDirId.slice(-4)}`]
  const report = sql<Reported>`
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
    returning state, (select max(version) from schema_migration) as schema, ${isAsked(schema)} as "isAskedToDrain"`
  const { rows } = await withRetry(db, () => report.execute(db))
  return rows[0]!
}

/** A condition on a node: somebody asks a leader who knows this schema to drain, for a newer one. */
const isAsked = (schema: number) => sql`
  coalesce(node.asked_schema > ${schema} and node.asked_at > now() - make_interval(secs => ${ASKED_SECONDS}), false)`

/** Asks the leader of a node to drain: a newer program waits to change the schema, and asks for as long as it waits. */
export async function askToDrain(db: Database, id: string, schema: number): Promise<void> {
  await sql`update node set asked_schema = ${schema}, asked_at = now() where id = ${id}`.execute(db)
}

/** Whether a newer program waits to change the schema, for the end of a leader of our node that knows this one. */
export async function isAskedToDrain(
  { db, dataDirId }: Pick<Home, 'db' | 'dataDirId'>,
  schema: number,
): Promise<boolean> {
  const { rows } = await sql`select from node where id = ${dataDirId} and ${isAsked(schema)}`.execute(db)
  return rows.length > 0
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
