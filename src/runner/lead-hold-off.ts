import { sql } from 'kysely'
import { backoff } from '../base/backoff.ts'
import type { Home } from '../db/home.ts'
import type { LiveRow } from '../db/processes.ts'
import { withRetry } from '../db/retry.ts'
import { kinship, startedUnder } from '../processes/ancestry.ts'
import { healthyOrchestrator } from './ownership.ts'

const FIRST_TENURE_S = 10
const MAX_TENURE_S = 300
const WINDOW_MINUTES = 10

/** A leader that may keep the lead for a while. */
export interface LeadHoldOff {
  readonly leader: LiveRow
  readonly leftSeconds: number
  /** How often runners of our own supervisor were superseded lately. */
  readonly takeovers: number
}

/**
 * Two supervisors that each restart their runner would take the lead from each other for ever. We are in such a fight when a runner of our own
 * supervisor was superseded before we started, and the leader belongs to another one. Then the leader keeps the lead for 10 s at least, and twice
 * as long for each further such takeover in the last ten minutes, up to five minutes. Nobody else waits, a person who starts runner after runner
 * neither: then the answer is undefined.
 */
export async function holdOffToRespect(home: Home): Promise<LeadHoldOff | undefined> {
  const fights = sql<{ started_under: string[] }>`
    select started_under from process
    where data_dir_id = ${home.dataDirId} and promoted_at is not null and handoff_requested_by is not null
      and ended_at between now() - make_interval(mins => ${WINDOW_MINUTES}) and now() - make_interval(secs => ${process.uptime()})`
  const { rows } = await withRetry(home.db, () => fights.execute(home.db))
  const leader = rows.length > 0 ? await healthyOrchestrator(home) : undefined
  if (!leader) return undefined
  const mine = startedUnder()
  const distance = kinship(mine, leader.started_under)
  const takeovers = rows.filter((row) => kinship(mine, row.started_under) < distance).length
  if (takeovers === 0) return undefined
  const tenureMs = backoff(takeovers, { baseMs: FIRST_TENURE_S * 1_000, maxMs: MAX_TENURE_S * 1_000 })
  const leftSeconds = tenureMs / 1_000 - (leader.tenure_s ?? 0)
  return leftSeconds > 0 ? { leader, leftSeconds, takeovers } : undefined
}
