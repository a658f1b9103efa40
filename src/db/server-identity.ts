import { sql } from 'kysely'
import type { Database } from './database.ts'
import { isDatabaseAway } from './trouble.ts'

/** The server's version, and how many bytes the database takes. */
export async function serverSize(db: Database): Promise<{ readonly version: string; readonly size: number }> {
  const { rows } = await sql<{ version: string; size: number }>`
    select current_setting('server_version') as version, pg_database_size(current_database()) as size`.execute(db)
  return rows[0]!
}

/** How many seconds the server's clock is ahead of ours. */
export async function serverClock(db: Database): Promise<number> {
  const before = Date.now()
  const { rows } = await sql<{ now: number }>`select extract(epoch from clock_timestamp())::float8 as now`.execute(db)
  return rows[0]!.now - (before + Date.now()) / 2000
}

/**
 * The identity of this server: its cluster, and its timeline, which every failover raises. A standby that took over may
 * lack the last commits. Null if a server does not tell.
 */
export async function serverIdentity(db: Database): Promise<string | null> {
  try {
    const { rows } = await sql<{ identity: string }>`
      select system_identifier || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) as identity
      from pg_control_system()`.execute(db)
    return rows[0]?.identity ?? null
  } catch (error) {
    if (isDatabaseAway(error)) throw error
    return null
  }
}

/** What a failover of this server keeps, as far as it shows. */
export interface Replication {
  /** `synchronous_standby_names`; empty: no commit waits for a standby. */
  readonly waitsFor: string
  /** `synchronous_commit` of our sessions. */
  readonly commit: string
  /** The standbys that are connected, and those of them for which commits wait; null: we may not see which. */
  readonly standbys: number
  readonly synchronous: number | null
}

export async function replication(db: Database): Promise<Replication> {
  const { rows } = await sql<Replication>`
    select current_setting('synchronous_standby_names') as "waitsFor", current_setting('synchronous_commit') as commit,
      count(*) as standbys,
      case when count(*) = count(sync_state) then count(*) filter (where sync_state in ('sync', 'quorum'))
        end as synchronous
    from pg_stat_replication where state = 'streaming' or state is null`.execute(db)
  return rows[0]!
}
