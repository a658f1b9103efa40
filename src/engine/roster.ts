import type { ToActor } from './actor-messages.ts'
import type { ActorSlot } from './actor-slot.ts'

/** The actors of a pool. */
export class Roster {
  readonly there = new Set<ActorSlot>()
  /** Exited, but not yet reaped. */
  readonly dying = new Set<ActorSlot>()

  get size(): number {
    return this.there.size + this.dying.size
  }

  /** Actors that hold a row or may: all but the idle ones. */
  get atWork(): ActorSlot[] {
    return [...this.there, ...this.dying].filter(({ state }) => state !== 'idle')
  }

  in(state: ActorSlot['state']): ActorSlot[] {
    return [...this.there].filter((slot) => slot.state === state)
  }

  tell(order: ToActor): void {
    for (const { body } of this.there) body.send(order)
  }

  kill(): void {
    for (const slot of this.there) slot.kill()
  }
}
