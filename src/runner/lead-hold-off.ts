import { type Backoff, backoff } from '../base/backoff.ts'
import type { Home } from '../db/home.ts'
import type { LiveRow } from '../db/processes.ts'
import { supersededLately } from '../db/runners.ts'
import { kinship, startedUnder } from '../processes/ancestry.ts'
import { healthyOrchestrator } from './ownership.ts'

const HOLD_OFF: Backoff = { baseMs: 10_000, maxMs: 300_000 }
const WINDOW_MINUTES = 10

/** A leader that may keep the lead for a while. */
export type LeadHoldOff = LiveRow & {
  readonly leftSeconds: number
  /** How often runners of our own supervisor were superseded lately. */
  readonly takeovers: number
}

/**
 * Two supervisors that each restart their runner would take the lead from each other for ever. That is so when a runner
 * of our own supervisor was superseded before we started, and the leader belongs to another one. Then the leader keeps
 * the lead for at least 10 s, doubled for each further such takeover in the last ten minutes, up to five minutes.
 * Nobody else waits, not even a person who starts runner after runner: then this is undefined.
 */
export async function holdOffToRespect(home: Home): Promise<LeadHoldOff | undefined> {
  const superseded = await supersededLately(home, { minutes: WINDOW_MINUTES, beforeSeconds: process.uptime() })
  const leader = superseded.length > 0 ? await healthyOrchestrator(home) : undefined
  if (!leader) return undefined
  const mine = startedUnder()
  const distance = kinship(mine, leader.started_under)
  const takeovers = superseded.filter((startedUnder) => kinship(mine, startedUnder) < distance).length
  if (takeovers === 0) return undefined
  const leftSeconds = backoff(takeovers, HOLD_OFF) / 1_000 - (leader.led_s ?? 0)
  return leftSeconds > 0 ? { ...leader, leftSeconds, takeovers } : undefined
}
