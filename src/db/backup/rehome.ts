import { sql } from 'kysely'
import { isUuid } from '../../base/ids.ts'
import type { Database } from '../database.ts'
import type { Header } from './backup-file.ts'

// A restore into another data dir: the files that are in the list of the backup come along, so what names the node that
// made it names the new one. What names others still does; they are lost until they report.

/** The tables that name the node with their files. */
const NAMING: ReadonlySet<string> = new Set(['archive_result', 'crawl', 'snapshot'])

/** The ids to replace in the rows of a table; undefined: none. */
export function renamedIn(
  table: string,
  { node }: Pick<Header, 'node'>,
  here: string | undefined,
): { readonly from: string; readonly to: string } | undefined {
  if (!NAMING.has(table) || node === undefined || !isUuid(node) || here === undefined) return undefined
  return node === here ? undefined : { from: node, to: here }
}

/** Rows of COPY with the fields that are this id replaced. Both have the same length, so no row moves. */
export async function* renamed(
  rows: AsyncIterable<Buffer>,
  { from, to }: { readonly from: string; readonly to: string },
): AsyncGenerator<Buffer> {
  const wanted = Buffer.from(`\t${from}`)
  let rest: Buffer = Buffer.alloc(0)
  for await (const piece of rows) {
    const text = Buffer.concat([rest, piece])
    // A tab is a separator: within values it is escaped. The end of a field is in sight, or left for later.
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1))
      if ('\t\n'.includes(String.fromCharCode(text[at + wanted.length] ?? 0))) text.write(to, at + 1)
    const upTo = Math.max(0, text.length - wanted.length)
    yield text.subarray(0, upTo)
    rest = text.subarray(upTo)
  }
  yield rest
}

/** Settles the rows of nodes. The ids of a backup that an older program made are replaced only now. */
export async function rehome(tx: Database, { node }: Pick<Header, 'node'>, here: string): Promise<void> {
  const { rows } = await sql<{ id: string }>`select id from node where id <> ${here}`.execute(tx)
  const made = node ?? (rows.length === 1 ? rows[0]!.id : undefined)
  if (node === undefined && made !== undefined)
    await sql`
      with results as (update archive_result set node_id = ${here} where node_id = ${made}),
        crawls as (update crawl set home_node = ${here} where home_node = ${made})
      update snapshot set home_node = ${here} where home_node = ${made}`.execute(tx)
  // With what it was still to remove: its folders do not come along.
  if (made !== undefined) await sql`delete from node where id = ${made} and id <> ${here}`.execute(tx)
  await sql`update node set state = 'lost', is_keeper = false where id <> ${here}`.execute(tx)
}
