import { Bell } from '../base/abort.ts'
import { Stop } from '../base/stop.ts'
import type { FromActor, ToActor } from './actor-messages.ts'

/** How often an actor says that it is there: its pool must tell one that takes its time from one that stands still. */
const HERE_MS = 4_000

/** A number that a pool sets; none until it has. */
class Slots {
  #count = 0
  #listener: ((count: number) => void) | undefined

  set(count: number): void {
    this.#count = count
    this.#listener?.(count)
  }

  /** Calls back with the number as it is, and whenever it is set. */
  watch(listener: (count: number) => void): void {
    this.#listener = listener
    listener(this.#count)
  }
}

/** An actor's side of the channel to its pool: the pool's orders, and the way to answer. */
export class Supervised {
  readonly stop = new Stop()
  /** Rings at each order. */
  readonly bell = new Bell()
  /** How many actors of its own it may have now, where its pool divides them. */
  readonly slots = new Slots()
  /** Called back when a claim may have been taken away. */
  readonly onRecheck = new Set<() => void>()
  readonly tell: (message: FromActor) => void
  /** Called back with what the pool's caller has to say. */
  onNote: ((note: unknown) => void) | undefined

  readonly #here: NodeJS.Timeout

  constructor(tell: (message: FromActor) => void) {
    this.tell = tell
    this.#here = setInterval(() => tell({ type: 'here' }), HERE_MS).unref()
  }

  /** Says nothing more by itself. */
  close(): void {
    clearInterval(this.#here)
  }

  /** Does what the pool says. */
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
 * The channel of a process that a pool has started. The end of the channel is an order, too, as SIGTERM is: an actor
 * never outlives its pool. Ctrl-C reaches the pool as well: it decides.
 */
export function supervisedProcess(): Supervised {
  const supervised = new Supervised((message) => {
    if (process.connected) process.send?.(message, undefined, undefined, () => {})
  })
  const { stop } = supervised
  process.on('message', (order: ToActor) => supervised.hear(order))
  process.on('disconnect', () => stop.requestForce(false))
  if (!process.connected) stop.requestForce(false) // It died while we were starting.
  process.on('SIGTERM', () => stop.requestDrain())
  for (const ignored of ['SIGINT', 'SIGHUP'] as const) process.on(ignored, () => {})
  return supervised
}
