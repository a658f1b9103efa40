import { quietMs } from '../base/quiet-ms.ts'
import { boundedClient } from './client.ts'
import { forPg } from './connection-url.ts'
import { likelyAddress, urlOf } from './embedded/server.ts'

/** A person waits with a finger on the key. */
const PATIENCE_MS = 2_000
const ROWS = 200

/** The name and the description of the latest rows of each kind. */
const KINDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    crawl: `select id::text as name,
      concat_ws(' ', status, coalesce(nullif(label, ''), split_part(urls, E'\\n', 1))) as about
    from crawl order by id desc limit ${ROWS}`,
    snapshot: `select id::text as name, concat_ws(' ', coalesce(outcome, status), url) as about
    from snapshot order by id desc limit ${ROWS}`,
    result: `select id::text as name, concat_ws(' ', status, plugin) as about
    from archive_result order by id desc limit ${ROWS}`,
    process: `select id::text as name, concat_ws(' ', status, process_type, worker_type, 'pid', pid) as about
    from process order by id desc limit ${ROWS}`,
    machine: `select id::text as name, hostname as about from machine order by id desc limit ${ROWS}`,
    schedule: `select id::text as name, concat_ws(' ', status, every, split_part(urls, E'\\n', 1)) as about
    from schedule order by id desc limit ${ROWS}`,
    tag: `select name, '' as about from tag order by name limit 1000`,
  }),
)

/**
 * The latest rows of a kind, as completion offers them: their names and descriptions. None if the database is not
 * running: nothing is started for that. Ids are offered by their last digits, or in full if that is what was begun.
 * @param url the database; undefined: the embedded server of this data dir
 */
export async function latestRows(
  url: string | undefined,
  dataDir: string,
  kind: string,
  begun: string,
): Promise<{ word: string; about: string }[]> {
  const statement = KINDS.get(kind)
  const address = url === undefined ? likelyAddress(dataDir) : undefined
  const there = url ?? (address && urlOf(address))
  if (statement === undefined || there === undefined) return []
  const patienceMs = quietMs(PATIENCE_MS)
  const Client = boundedClient({ statementMs: patienceMs, prepare: false })
  const client = new Client({ connectionString: forPg(there), connectionTimeoutMillis: patienceMs })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<{ name: string; about: string }>(statement)
    if (kind === 'tag') return rows.map(({ name, about }) => ({ word: name, about }))
    const isWhole = (id: string) => begun !== '' && id.startsWith(begun)
    return rows.map(({ name, about }) => ({ word: isWhole(name) ? name : name.slice(-8), about }))
  } finally {
    await client.end().catch(() => {})
  }
}
