import { type Selectable, sql } from 'kysely'
import { uuidv7 } from '../base/ids.ts'
import type { Database } from './database.ts'
import type { MachineTable } from './tables.ts'

/** What is known about a machine. Its guid identifies it for ever. */
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

/** A machine with what runs there now. */
export interface ListedMachine extends Selectable<MachineTable> {
  /** Live processes of ours, by their rows. */
  readonly processes: number
  /** Whether a runner leads there. */
  readonly runner: boolean
  /** The last heartbeat of a runner or command there; null when none runs. */
  readonly heartbeat_at: Date | null
}

/** Every machine that has worked on this database, the newest last. */
export async function machines(db: Database): Promise<ListedMachine[]> {
  const { rows } = await sql<ListedMachine>`
    with alive as (
      select machine_id, count(*) as processes, bool_or(worker_type = 'worker_runner') as runner,
        max(heartbeat_at) as heartbeat_at
      from process where status in ('starting', 'running', 'draining') group by machine_id
    )
    select m.id, m.guid, m.hostname, m.os_platform, m.os_arch, m.created_at, coalesce(a.processes, 0) as processes,
      coalesce(a.runner, false) as runner, a.heartbeat_at
    from machine m left join alive a on a.machine_id = m.id order by m.id`.execute(db)
  return rows
}
