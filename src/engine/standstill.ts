import type { ActorSlot } from './actor-slot.ts'
import type { Machine } from './machine.ts'
import type { Queue } from './queue.ts'
import type { Roster } from './roster.ts'

/** An actor reports every few seconds. One that was started or woken and is silent for this long is stuck. */
const MUTE_MS = 30_000
/** An idle actor exits within moments of being asked to. */
const LEAVE_MS = 10_000
/** This long after the end of its lease an actor counts as stuck. */
const STUCK_SECONDS = 15
/** At its deadline an actor stops by itself; it has this long to do so. */
const OVERTIME_MS = 30_000
/** When two checks are further apart, no actor could be heard: the database was away, or we were suspended. */
const LONGEST_GAP_MS = 10_000

/**
 * Finds the actors of a pool that are stuck (stopped, or blocked where no order reaches them) and kills them; reaping
 * them makes their work due again.
 */
export class Standstill {
  readonly #roster: Roster
  readonly #queue: Queue<Machine>
  readonly #report: (why: string) => void
  #lookedAt = performance.now()

  /** @param report is told of which actor, and why, before the kill */
  constructor(roster: Roster, queue: Queue<Machine>, report: (why: string) => void) {
    this.#roster = roster
    this.#queue = queue
    this.#report = report
  }

  /** Throws errors of the database. */
  async kill(): Promise<void> {
    this.#kill('does not answer', this.mute(this.#roster.there, MUTE_MS))
    this.#kill('gets nowhere', this.overdue(this.#roster.there))
    this.#kill('does not renew its lease', await this.late(this.#roster.there))
  }

  /** As `kill`, for actors that were asked to exit; does not wait for the database, which may be unresponsive. */
  killLeaving(): void {
    this.#kill('does not answer', this.mute(this.#roster.there, LEAVE_MS))
    void this.late(this.#roster.there).then(
      (late) => this.#kill('does not renew its lease', late),
      () => {}, // The database is away: the next call tries again.
    )
  }

  #kill(why: string, slots: readonly ActorSlot[]): void {
    for (const { owner, pid, isKilled } of slots) {
      if (!isKilled) this.#report(`${pid ?? ''} ${why}: killing it`)
      for (const each of this.#roster.there) if (each.owner === owner) each.kill()
    }
  }

  /**
   * Actors that do not answer: they would count as available for due rows. Where another one of the same process holds
   * a row, that one's lease decides.
   */
  mute(slots: Iterable<ActorSlot>, silentMs: number): ActorSlot[] {
    const now = performance.now()
    const wasAway = now - this.#lookedAt > LONGEST_GAP_MS
    this.#lookedAt = now
    for (const slot of wasAway ? slots : []) {
      if (slot.askedAt !== undefined) slot.askedAt = now
      slot.busyUntil = Math.max(slot.busyUntil, now)
    }
    const silent = [...slots].filter(({ askedAt }) => askedAt !== undefined && now - askedAt > silentMs)
    const holding = [...slots].filter(({ state, askedAt }) => state === 'busy' && askedAt === undefined)
    return silent.filter(({ owner }) => !holding.some((slot) => slot.owner === owner))
  }

  /** Actors whose work has taken longer than allowed without progress. Call `mute` first. */
  overdue(slots: Iterable<ActorSlot>): ActorSlot[] {
    return [...slots].filter(({ busyUntil }) => performance.now() > busyUntil + OVERTIME_MS)
  }

  /** Actors that let the lease of their row expire. Throws errors of the database. */
  async late(slots: Iterable<ActorSlot>): Promise<ActorSlot[]> {
    const busy = [...slots].filter(({ state }) => state === 'busy')
    const holders = await this.#queue.holders(
      busy.map(({ owner }) => owner),
      STUCK_SECONDS,
    )
    if (this.#queue.machine.columns.owner === undefined) return []
    for (const slot of busy) {
      // An actor at work without a claim has just ended or lost one, and reports it within moments unless it is stuck.
      if (holders.some(({ owner }) => owner === slot.owner)) slot.askedAt = undefined
      else slot.askedAt ??= performance.now()
    }
    return busy.filter((slot) => holders.some(({ owner, late }) => late && owner === slot.owner))
  }
}
