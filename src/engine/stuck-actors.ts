import type { ActorSlot } from './actor-slot.ts'
import type { Machine } from './machine.ts'
import type { Queue } from './queue.ts'
import type { Roster } from './roster.ts'
import { Standstill } from './standstill.ts'

/** An actor reports every few seconds. One that was started or woken and is silent for this long is stuck. */
const MUTE_MS = 30_000
/** An idle actor exits within moments of being asked to. */
const LEAVE_MS = 10_000

/** Kills the stuck actors of a pool; reaping them makes their work due again. */
export class StuckActors {
  readonly #roster: Roster
  readonly #standstill: Standstill
  readonly #report: (why: string) => void

  /** @param report says of which actor, and why, before the kill */
  constructor(roster: Roster, queue: Queue<Machine>, report: (why: string) => void) {
    this.#roster = roster
    this.#standstill = new Standstill(queue)
    this.#report = report
  }

  /** Throws errors of the database. */
  async kill(): Promise<void> {
    this.#kill('does not answer', this.#standstill.mute(this.#roster.there, MUTE_MS))
    this.#kill('gets nowhere', this.#standstill.overdue(this.#roster.there))
    this.#kill('does not renew its lease', await this.#standstill.late(this.#roster.there))
  }

  /** As `kill`, of actors that were asked to exit; does not wait for the database, which may be silent. */
  killLeaving(): void {
    this.#kill('does not answer', this.#standstill.mute(this.#roster.there, LEAVE_MS))
    void this.#standstill.late(this.#roster.there).then(
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
}
