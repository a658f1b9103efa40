import { Bell } from '../base/abort.ts'
import { Stop } from '../base/stop.ts'
import type { FromActor, ToActor } from './actor-messages.ts'

/** How often an actor reports that it is alive, so that its pool can tell a slow one from a stuck one. */
const HERE_MS = 4_000

/** A number set by the pool; undefined before. */
class Slots {
  #count = 0
  #listener: ((count: number) => void) | undefined

  set(count: number): void {
    this.#count = count
    this.#listener?.(count)
  }

  /** Calls back with the current number, and whenever it is set. */
  watch(listener: (count: number) => void): void {
    this.#listener = listener
    listener(this.#count)
  }
}

/** An actor's side of the channel to its pool: receives orders and reports back. */
export class Supervised {
  readonly stop = new Stop()
  /** Rings at each order. */
  readonly bell = new Bell()
  /** How many actors of its own it may have, when its pool divides slots. */
  readonly slots = new Slots()
  /** Called when a claim may have been taken away. */
  readonly onRecheck = new Set<() => void>()
  readonly tell: (message: FromActor) => void
  /** Called with messages of the pool's caller. */
  onNote: ((note: unknown) => void) | undefined

  readonly #here: NodeJS.Timeout

  constructor(tell: (message: FromActor) => void) {
    this.tell = tell
    this.#here = setInterval(() => tell({ type: 'here' }), HERE_MS).unref()
  }

  /** Ends the regular reports. */
  close(): void {
    clearInterval(this.#here)
  }

  /** Carries out an order of the pool. */
  hear(order: ToActor): void {
    if (order.type === 'drain') this.stop.requestDrain(order.capMs ?? Number.POSITIVE_INFINITY, order.isExplained)
    if (order.type === 'force') this.stop.requestForce(order.isExplained)
    if (order.type === 'recheck') for (const recheck of this.onRecheck) recheck()
    if (order.type === 'note') this.onNote?.(order.note)
    if (order.type === 'slots') this.slots.set(order.count)
    this.bell.wake()
  }
}

/**
 * The channel of a process that a pool has started. The end of the channel is an order to stop, and so is SIGTERM: an
 * actor never outlives its pool. Ctrl-C reaches the pool as well, which decides.
 */
export function supervisedProcess(): Supervised {
  const supervised = new Supervised((message) => {
    if (process.connected) process.send?.(message, undefined, undefined, () => {})
  })
  const { stop } = supervised
  process.on('message', (order: ToActor) => supervised.hear(order))
  process.on('disconnect', () => stop.requestForce(false))
  if (!process.connected) stop.requestForce(false) // The pool died while we were starting.
  process.on('SIGTERM', () => stop.requestDrain())
  for (const ignored of ['SIGINT', 'SIGHUP'] as const) process.on(ignored, () => {})
  return supervised
}
