import type { ActorSlot } from './actor-slot.ts'
import type { Machine } from './machine.ts'
import type { Queue } from './queue.ts'

/** So long after the end of its lease an actor is not late but stuck. */
const STUCK_SECONDS = 15
/** It has been told to stop then, by itself: so much longer it may take to do so. */
const OVERTIME_MS = 30_000
/**
 * Between two looks that are further apart nobody was asked, or heard: the database was away, and none could have
 * answered, or we stood still ourselves.
 */
const LONGEST_GAP_MS = 10_000

/** Finds actors that are there and do nothing: stopped, or stuck where no order reaches them. */
export class Standstill {
  readonly #queue: Queue<Machine>
  #lookedAt = performance.now()

  constructor(queue: Queue<Machine>) {
    this.#queue = queue
  }

  /** Those that do not answer: they would count as somebody who will take what is due. */
  mute(slots: Iterable<ActorSlot>, patienceMs: number): ActorSlot[] {
    const now = performance.now()
    const wasAway = now - this.#lookedAt > LONGEST_GAP_MS
    this.#lookedAt = now
    for (const slot of wasAway ? slots : []) {
      if (slot.askedAt !== undefined) slot.askedAt = now
      slot.busyUntil = Math.max(slot.busyUntil, now)
    }
    return [...slots].filter(({ askedAt }) => askedAt !== undefined && now - askedAt > patienceMs)
  }

  /** Those at work for longer than what they are at may take, without a word of progress. Look for the mute first. */
  overdue(slots: Iterable<ActorSlot>): ActorSlot[] {
    return [...slots].filter(({ busyUntil }) => performance.now() > busyUntil + OVERTIME_MS)
  }

  /** Those that let the lease of what they hold run out. Throws what the database throws. */
  async late(slots: Iterable<ActorSlot>): Promise<ActorSlot[]> {
    const busy = [...slots].filter(({ state }) => state === 'busy')
    const holders = await this.#queue.holders(
      busy.map(({ owner }) => owner),
      STUCK_SECONDS,
    )
    if (this.#queue.machine.columns.owner === undefined) return []
    for (const slot of busy) {
      // At work without a claim it has just ended, or lost, one: it says so within moments, unless it stands still.
      if (holders.some(({ owner }) => owner === slot.owner)) slot.askedAt = undefined
      else slot.askedAt ??= performance.now()
    }
    return busy.filter((slot) => holders.some(({ owner, late }) => late && owner === slot.owner))
  }
}
