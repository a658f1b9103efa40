import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { arch, hostname, platform } from 'node:os'
import { sql } from 'kysely'
import { uuidv7 } from '../base/ids.ts'
import type { Database } from '../db/database.ts'

/** What stays the same for this machine: its machine-id hashed with our name, so that the id itself is not given away; else its host name. */
function machineGuid(): string {
  let id = ''
  try {
    id = readFileSync('/etc/machine-id', 'utf8').trim()
  } catch {
    // Minimal containers have none.
  }
  return createHash('sha256')
    .update(`archivebox-ts ${id || hostname()}`)
    .digest('hex')
}

/** The row of this machine, made on first sight. */
export async function currentMachine(db: Database): Promise<{ id: string; hostname: string }> {
  const guid = machineGuid()
  const found = await db.selectFrom('machine').select(['id', 'hostname']).where('guid', '=', guid).executeTakeFirst()
  if (found && found.hostname === hostname()) return found
  const { rows } = await sql<{ id: string; hostname: string }>`
    insert into machine (id, guid, hostname, os_platform, os_arch)
    values (${uuidv7()}, ${guid}, ${hostname()}, ${platform()}, ${arch()})
    on conflict (guid) do update set hostname = excluded.hostname
    returning id, hostname`.execute(db)
  return rows[0]!
}
