import { sql } from 'kysely'
import type { Home } from '../db/home.ts'
import type { LiveRow } from '../db/processes.ts'
import { kinship, startedUnder } from '../processes/ancestry.ts'

const FIRST_TENURE_S = 10
const MAX_TENURE_S = 300
const WINDOW_MINUTES = 10

/** What the leader may still keep the lead for, and why. */
export interface Tenure {
  readonly leftSeconds: number
  /** How often runners of our own supervisor were superseded lately. */
  readonly takeovers: number
}

/**
 * Two supervisors that each restart their runner would take the lead from each other for ever. We are in such a fight when a runner of our own
 * supervisor was superseded before we started, and the leader belongs to another one. Then the leader keeps the lead for 10 s at least, and twice
 * as long for each such takeover in the last ten minutes, up to five minutes. Otherwise, a person who starts runner after runner too, for no time.
 */
export async function tenureLeft(home: Home, leader: LiveRow): Promise<Tenure> {
  const mine = startedUnder()
  const { rows } = await sql<{ started_under: string[]; tenure_s: number }>`
    select p.started_under, extract(epoch from now() - leader.promoted_at) as tenure_s
    from process p join process leader on leader.id = ${leader.id}
    where p.data_dir_id = ${home.dataDirId} and p.promoted_at is not null and p.handoff_requested_by is not null
      and p.ended_at between now() - make_interval(mins => ${WINDOW_MINUTES}) and now() - make_interval(secs => ${process.uptime()})`.execute(
    home.db,
  )
  const distance = kinship(mine, leader.started_under)
  const takeovers = rows.filter((row) => kinship(mine, row.started_under) < distance).length
  const needed = takeovers === 0 ? 0 : Math.min(FIRST_TENURE_S * 2 ** (takeovers - 1), MAX_TENURE_S)
  return { leftSeconds: Math.max(0, needed - (rows[0]?.tenure_s ?? 0)), takeovers }
}
