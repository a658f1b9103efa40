import type { Stop } from '../base/stop.ts'
import type { ToActor } from './actor-messages.ts'
import type { ActorSlot, Exit } from './actor-slot.ts'

/** The actors of a pool. */
export class Roster {
  readonly there = new Set<ActorSlot>()
  /** Exited, but not yet reaped. */
  readonly #dying = new Set<ActorSlot>()

  get size(): number {
    return this.there.size + this.#dying.size
  }

  /** Actors that hold a row or may: all but the idle ones. */
  get atWork(): ActorSlot[] {
    return [...this.there, ...this.#dying].filter(({ state }) => state !== 'idle')
  }

  in(state: ActorSlot['state']): ActorSlot[] {
    return [...this.there].filter((slot) => slot.state === state)
  }

  tell(order: ToActor): void {
    for (const { body } of this.there) body.send(order)
  }

  /** Asks every actor to exit after its current work. */
  drain({ capMs, isExplained }: Stop): void {
    this.tell({ type: 'drain', capMs: Number.isFinite(capMs) ? capMs : null, isExplained })
  }

  /** Makes every actor stop its work and exit. */
  force({ isExplained }: Stop): void {
    this.tell({ type: 'force', isExplained })
  }

  kill(): void {
    for (const slot of this.there) slot.kill()
  }

  /** Records that an actor has exited. @returns those that are to be reaped now */
  exited(slot: ActorSlot, { othersGoOn }: Exit): ActorSlot[] {
    this.there.delete(slot)
    this.#dying.add(slot)
    if (othersGoOn) return [slot]
    // Those that shared a process are reaped together, once the last one is known to be gone.
    if ([...this.there].some(({ owner }) => owner === slot.owner)) return []
    return [...this.#dying].filter(({ owner }) => owner === slot.owner)
  }

  reaped(slots: readonly ActorSlot[]): void {
    for (const slot of slots) this.#dying.delete(slot)
  }
}
