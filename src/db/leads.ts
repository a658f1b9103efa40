import { sql } from 'kysely'
import type { Database } from './database.ts'
import { TRUST_MS } from './heartbeats.ts'
import type { Home } from './home.ts'

// The table `lead`: who led, and from when until when. The schema keeps it (migration 0041), whoever changes a runner.

/** One time that a runner led. */
export interface Lead {
  readonly term: number
  readonly process_id: string
  /** Null: its process is no longer known. */
  readonly pid: number | null
  readonly began_at: Date
  /** Null: it leads. If nobody saw its end: its last heartbeat. */
  readonly ended_at: Date | null
  readonly is_lost: boolean
  /** How long nobody had led before it, in ms. */
  readonly gap_ms: number
  /** How long nobody led in total, until it did, in ms. */
  readonly leaderless_ms: number
}

/** The latest leads of a data dir, the newest first. */
export async function latestLeads({ db, dataDirId }: Home, most: number): Promise<Lead[]> {
  const { rows } = await sql<Lead>`
    select l.term, l.process_id, (select pid from process where id = l.process_id) as pid, l.began_at, l.ended_at,
      l.is_lost, l.gap_ms, l.leaderless_ms
    from lead l where l.data_dir_id = ${dataDirId} order by l.term desc limit ${most}`.execute(db)
  return rows
}

/** How often somebody began to lead, and how long nobody did, in ms. */
export interface Leading {
  /** The times, takeovers among them. */
  readonly leads: number
  /** The sum until the last of these. */
  readonly leaderlessMs: number
  /** How long nobody has led now; 0: somebody leads. One that is silent for longer than its trust lasts does not. */
  readonly missingMs: number
}

/** Undefined: nobody has led yet. */
export async function leading({ db, dataDirId }: Home): Promise<Leading | undefined> {
  const { rows } = await sql<Leading>`
    with last as (select * from lead where data_dir_id = ${dataDirId} order by term desc limit 1),
    over as (
      select last.*, case when ended_at is not null then ended_at
        when heard < now() - make_interval(secs => ${TRUST_MS / 1_000}) then heard else now() end as until
      from last, lateral (
        select greatest(began_at, (select heartbeat_at from process where id = last.process_id)) as heard) h
    )
    select term as leads, leaderless_ms as "leaderlessMs",
      greatest(0, extract(epoch from now() - until) * 1000)::float8 as "missingMs" from over`.execute(db)
  return rows[0]
}

/** Deletes leads that ended more than `days` ago, except the last one of each data dir, which has the sums. */
export async function deleteOldLeads(db: Database, days: number): Promise<void> {
  await sql`
    delete from lead where ended_at < now() - make_interval(days => ${days})
      and term < (select max(later.term) from lead later where later.data_dir_id = lead.data_dir_id)`.execute(db)
}
