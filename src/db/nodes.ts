import { sql } from 'kysely'
import { shortId } from '../base/words.ts'
import type { Database } from './database.ts'
import type { Home } from './home.ts'
import { CHANNELS } from './notifications.ts'
import { transact, withRetry } from './retry.ts'
import { isTaken } from './trouble.ts'

// Nodes: the data dirs of one database, each on one machine, with its own runner and its own files.

export type NodeState = 'active' | 'draining' | 'lost'

/** What a runner reports of its node. */
export interface NodeFacts {
  readonly hostname: string
  readonly version: string
  /** The newest schema that its program knows. */
  readonly schema: number
  /** On the disk of its archive; null: not known. */
  readonly freeBytes: number | null
  /** Where nodes may differ; undefined: as it was. */
  readonly about?: AboutNode | undefined
}

/** What a node works with. */
export interface AboutNode {
  /** The enabled plugins, each with a hash of its own files; those of the package have its version. */
  readonly plugins: Readonly<Record<string, string>>
  /** What is set there, as written, without secrets. */
  readonly settings: Readonly<Record<string, string>>
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
  const { hostname, version, schema, freeBytes, about } = facts
  const folder = dataDir.slice(dataDir.lastIndexOf('/') + 1)
  const names = [hostname, `${hostname}:${folder}`, `${hostname}:${folder}:${dataDirId.slice(-4)}`]
  const report = sql<Reported>`
    insert into node (id, machine_id, data_dir, name, version, schema, free_bytes, is_keeper, about)
    select ${dataDirId}, ${machineId}, ${dataDir}, name, ${version}, ${schema}, ${freeBytes}, ${embedded},
      ${about ? JSON.stringify(about) : null}::jsonb
    from unnest(${names}::text[]) with ordinality as one (name, place)
    where not exists (select from node where node.name = one.name and node.id <> ${dataDirId})
    order by place limit 1
    on conflict (id) do update
    set machine_id = excluded.machine_id, data_dir = excluded.data_dir, version = excluded.version,
      schema = excluded.schema, free_bytes = excluded.free_bytes, is_keeper = excluded.is_keeper,
      heartbeat_at = now(), about = coalesce(excluded.about, node.about),
      state = case node.state when 'lost' then 'active' else node.state end
    returning state, (select max(version) from schema_migration) as schema, ${isAsked(schema)} as "isAskedToDrain"`
  for (let tries = 1; ; tries += 1) {
    try {
      const { rows } = await withRetry(db, () => report.execute(db))
      return rows[0]!
    } catch (error) {
      // Another node that is new in this moment has taken the name that we saw free: the next look sees it.
      if (!isTaken(error) || tries === names.length) throw error
    }
  }
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
 * Marks the other nodes lost that have not reported for so long: their open pages are anybody's from then on. Those of
 * a node that drains are so already. A report from the future, since the clock was set back, is set
 * to now.
 * @returns their names
 */
export async function loseSilentNodes(
  { db, dataDirId }: Pick<Home, 'db' | 'dataDirId'>,
  seconds: number,
): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    with ahead as (
      update node set heartbeat_at = now()
      where state = 'active' and heartbeat_at > now() + make_interval(secs => ${seconds})
    )
    update node set state = 'lost'
    where state = 'active' and id <> ${dataDirId}
      and heartbeat_at < now() - make_interval(secs => ${seconds})
    returning name`.execute(db)
  return rows.map(({ name }) => name)
}

/**
 * Lets a node begin nothing new from now on, or work again.
 * @param to `active` for one that drains; a lost one becomes active when it reports
 * @returns whether it was changed
 */
export async function steerNode(db: Database, id: string, to: 'draining' | 'active'): Promise<boolean> {
  const { rows } = await sql`
    with steered as (
      update node set state = ${to} where id = ${id} and (${to} = 'draining' or state = 'draining') and state <> ${to}
      returning id)
    select pg_notify(channel, '') from steered, unnest(${[CHANNELS.runner, CHANNELS.work]}::text[]) channel`.execute(db)
  return rows.length > 0
}

/** The name under which our node was forgotten; it is told once. */
export async function forgottenAs({ db, dataDirId }: Pick<Home, 'db' | 'dataDirId'>): Promise<string | undefined> {
  const { rows } = await sql<{ forgotten: string }>`
    with was as (select forgotten from runner_term where data_dir_id = ${dataDirId} and forgotten is not null),
      told as (update runner_term set forgotten = null where data_dir_id = ${dataDirId} and exists (select from was))
    select forgotten from was`.execute(db)
  return rows[0]?.forgotten
}

/** Whether the node of this id is told to begin nothing, in SQL: the same for all rows of a statement. */
export const drains = (node: string): string =>
  `exists (select from node where node.id = ${node} and node.state = 'draining')`

/**
 * A condition on a row with a `home_node`: the node of this id may work on it. It has no home yet, or its home is this
 * node, or one that does not work.
 */
const mayWorkHere = (table: string, node: string): string =>
  `(${table}.home_node is null or ${table}.home_node = ${node} or not exists (
      select from node where node.id = ${table}.home_node and node.state = 'active'))`

/** Claims of a page in a row without progress at its home, after which another node is to try it: part of its graph. */
export const TRIES_AT_HOME = 3
/** How long work waits for a certain other node that is alive: it may be busy, or work on some crawls only. */
const WAIT_FOR_ANOTHER = '15 minutes'

/** The same for a crawl, which is anybody's, too, when nobody took it for long: its pages know where they belong. */
export const crawlMayWorkHere = (table: string, node: string): string =>
  `(${mayWorkHere(table, node)} or ${table}.retry_at < now() - interval '${WAIT_FOR_ANOTHER}')`

const otherActive = (node: string) => `from node where node.id <> ${node} and node.state = 'active'`

/** A condition on a page: its claims at its home came to nothing, and another node is to try it. */
const isToMove = (table: string): string =>
  `(${table}.attempts = ${TRIES_AT_HOME} and ${table}.retry_at > now() - interval '${WAIT_FOR_ANOTHER}'
      and ${table}.home_node is not null and exists (select ${otherActive(`${table}.home_node`)}))`

/**
 * The same for a page, which is anybody's, too, as long as no result has files. One that ended its workers at its home
 * is for the others for a while: what is wrong may be the machine. Its next claim counts, so it moves once.
 */
export const pageMayWorkHere = (table: string, node: string): string =>
  `case when ${isToMove(table)} then ${table}.home_node <> ${node}
    else ${mayWorkHere(table, node)} or not exists (
      select from archive_result where snapshot_id = ${table}.id and node_id is not null) end`

/** For a page that may not be worked on here: the node that may, as far as we know. */
export const workerElsewhere = (table: string, node: string): string =>
  `case when ${table}.home_node <> ${node} then ${table}.home_node
    else (select id ${otherActive(node)} order by heartbeat_at desc limit 1) end`

/** Whether files whose row names this node are on another disk than ours. Null: no node has any. */
export const isAway = (node: string | null, { dataDirId }: Pick<Home, 'dataDirId'>): node is string =>
  node !== null && node !== dataDirId

/** Whether this database has, or has had, other nodes than ours. */
export async function hasOtherNodes({ db, dataDirId }: Pick<Home, 'db' | 'dataDirId'>): Promise<boolean> {
  const { rows } = await sql`select from node where id <> ${dataDirId} limit 1`.execute(db)
  return rows.length > 0
}

/** Whether other nodes use this database, and ours is not known there. */
export async function isOfOthers({ db, dataDirId }: Pick<Home, 'db' | 'dataDirId'>): Promise<boolean> {
  const { rows } = await sql`
    select from node where state <> 'lost' and not exists (select from node where id = ${dataDirId}) limit 1`.execute(
    db,
  )
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
