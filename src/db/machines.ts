import { sql } from 'kysely'
import { uuidv7 } from '../base/ids.ts'
import type { Database } from './database.ts'

export interface NewMachine {
  /** What stays the same for a machine, its host name apart. */
  readonly guid: string
  readonly hostname: string
  readonly platform: string
  readonly arch: string
}

/** The row of this machine, made on first sight; its host name is kept up to date. */
export async function machineRow(db: Database, machine: NewMachine): Promise<{ id: string; hostname: string }> {
  const { guid, hostname, platform, arch } = machine
  const found = await db.selectFrom('machine').select(['id', 'hostname']).where('guid', '=', guid).executeTakeFirst()
  if (found?.hostname === hostname) return found
  const { rows } = await sql<{ id: string; hostname: string }>`
    insert into machine (id, guid, hostname, os_platform, os_arch)
    values (${uuidv7()}, ${guid}, ${hostname}, ${platform}, ${arch})
    on conflict (guid) do update set hostname = excluded.hostname
    returning id, hostname`.execute(db)
  return rows[0]!
}
