import { TRUST_MS } from '../db/heartbeats.ts'
import type { LiveRow } from '../db/processes.ts'

/**
 * When two looks are further apart, we were away ourselves: stopped, suspended, or without a database. Missed beats
 * prove nothing then.
 */
const LONGEST_GAP_MS = 10_000

interface Heard {
  readonly beat: number
  readonly since: number
  readonly lookedAt: number
}

/**
 * Tells which processes have fallen silent: their heartbeat has not changed for as long as a leader trusts its lead, in
 * a database that answered us all the time. Measured on our own monotonic clock, so that neither an outage, which
 * silences everybody, nor a clock that jumps, nor a suspended machine makes a process look dead.
 */
export class Silence {
  readonly #heard = new Map<string, Heard>()

  /** One look at a row. True: its process has been silent for its whole trust window. */
  hasFallenOn(row: LiveRow): boolean {
    const now = performance.now()
    const beat = row.heartbeat_at?.getTime() ?? 0
    const before = this.#heard.get(row.id)
    const goesOn = before !== undefined && before.beat === beat && now - before.lookedAt < LONGEST_GAP_MS
    const since = goesOn ? before.since : now
    this.#heard.set(row.id, { beat, since, lookedAt: now })
    return now - since >= TRUST_MS
  }
}
