import { sql } from 'kysely'
import { uuidv7 } from '../base/ids.ts'
import type { Database } from './database.ts'

/** What is known of a machine. Its guid identifies it for ever. */
export interface Machine {
  readonly guid: string
  readonly hostname: string
  readonly platform: string
  readonly arch: string
}

/** A machine that has a row. */
export async function machineById(db: Database, id: string): Promise<{ id: string; hostname: string }> {
  return await db.selectFrom('machine').select(['id', 'hostname']).where('id', '=', id).executeTakeFirstOrThrow()
}

/** The row of a machine, created on first use; its host name is kept current. */
export async function machineRow(
  db: Database,
  { guid, hostname, platform, arch }: Machine,
): Promise<{ id: string; hostname: string }> {
  const found = await db.selectFrom('machine').select(['id', 'hostname']).where('guid', '=', guid).executeTakeFirst()
  if (found && found.hostname === hostname) return found
  const { rows } = await sql<{ id: string; hostname: string }>`
    insert into machine (id, guid, hostname, os_platform, os_arch)
    values (${uuidv7()}, ${guid}, ${hostname}, ${platform}, ${arch})
    on conflict (guid) do update set hostname = excluded.hostname
    returning id, hostname`.execute(db)
  return rows[0]!
}
