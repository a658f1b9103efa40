import { sql } from 'kysely'
import { uuidv7 } from '../base/ids.ts'
import type { Database } from './database.ts'

/** What is known of a machine. The guid stays the same for as long as it is the same machine. */
export interface Machine {
  readonly guid: string
  readonly hostname: string
  readonly platform: string
  readonly arch: string
}

/** The row of a machine, which is made on first sight and follows its host name. */
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
