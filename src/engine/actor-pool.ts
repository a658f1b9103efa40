import { Bell } from '../base/abort.ts'
import { type ActorMode, type ActorSlot, startActor } from './actor-slot.ts'
import type { QueueOptions } from './claim-statements.ts'
import { asError } from './executor.ts'
import type { Machine } from './machine.ts'
import { Queue } from './queue.ts'
import { actorsToSpawn, MAX_CONCURRENT_ACTORS } from './spawn-policy.ts'
import type { Sql } from './sql.ts'
import { type QueueView, viewsOf } from './views.ts'

export interface ActorPoolOptions {
  readonly sql: Sql
  readonly machine: Machine
  /** Which rows count as waiting: the same as for the actors. */
  readonly queue?: QueueOptions
  readonly values?: () => readonly unknown[]
  readonly actors: ActorMode
  readonly maxConcurrentActors?: number
  /** Handed on to each actor; text for a process, so nothing but JSON. */
  readonly launch?: Readonly<Record<string, unknown>>
  /** How often the queue is looked at. */
  readonly tickMs?: number
  /** How long a drain waits for ticks to end before actors are killed. */
  readonly drainMs?: number
  /** Leaves when nothing is due and no actor is left. */
  readonly exitOnIdle?: boolean
  readonly onError?: (error: Error) => void
}

const TICK_MS = 1_000
const DRAIN_MS = 60_000
/** Actors that die one after the other are started no faster than this. */
const LONGEST_PAUSE_MS = 30_000
/** The spawn policy asks for no more. */
const COUNT_AT_MOST = 11

/**
 * Starts actors while rows wait, a few at a time, and sees them end: what a dead one had claimed is due again at once, long before its lease
 * would end.
 */
export class ActorPool {
  readonly #options: ActorPoolOptions
  readonly #queue: Queue<Machine>
  readonly #pending: QueueView<unknown>
  readonly #slots = new Set<ActorSlot>()
  /** Owners (or tokens) that are gone, and whose rows are still to be taken from them. */
  #dead: string[] = []
  readonly #bell = new Bell()
  /** Actors that died since one last left by itself: from the second on, the next one waits. */
  #deaths = 0
  #spawnAt = 0

  constructor(options: ActorPoolOptions) {
    this.#options = options
    this.#queue = new Queue(options.machine, options.sql)
    const { machine, sql, queue, values } = options
    this.#pending = viewsOf(machine, sql, queue, () => (values?.() ?? []).slice(0, queue?.whereValues ?? 0)).pending
  }

  /** The actors that run, by process id; in-process ones have none. */
  get running(): readonly Pick<ActorSlot, 'owner' | 'pid'>[] {
    return [...this.#slots]
  }

  /** Works until `signal` aborts (drains) or `force` does (kills); with `exitOnIdle`, until there is nothing to do. Never throws. */
  async run({ signal, force }: { readonly signal?: AbortSignal; readonly force?: AbortSignal } = {}): Promise<void> {
    const stop = AbortSignal.any([signal, force].filter((each) => each !== undefined))
    for (let idle = false; !stop.aborted && !(idle && this.#options.exitOnIdle); ) {
      try {
        await this.#reap()
        idle = (await this.#spawn()) === 0 && this.#slots.size === 0
      } catch (error) {
        this.#report(error) // The database is away: later.
      }
      if (!idle || !this.#options.exitOnIdle) await this.#bell.wait(this.#options.tickMs ?? TICK_MS, stop)
    }
    await this.#drain(force)
  }

  /** Starts as many actors as the queue is worth. Returns how many rows wait, as far as they were counted. */
  async #spawn(): Promise<number> {
    const waiting = await this.#pending.count(COUNT_AT_MOST)
    if (performance.now() < this.#spawnAt) return waiting
    const { actors, launch = {}, maxConcurrentActors = MAX_CONCURRENT_ACTORS } = this.#options
    for (let count = actorsToSpawn(waiting, this.#slots.size, maxConcurrentActors); count > 0; count--) {
      const slot = startActor(actors, launch)
      this.#slots.add(slot)
      void slot.gone.then((error) => this.#ended(slot, error))
    }
    return waiting
  }

  #ended(slot: ActorSlot, error: Error | undefined): void {
    this.#slots.delete(slot)
    this.#deaths = error ? this.#deaths + 1 : 0
    if (error) this.#report(error)
    if (this.#deaths > 1) this.#spawnAt = performance.now() + Math.min(LONGEST_PAUSE_MS, 500 * 2 ** (this.#deaths - 2))
    this.#dead.push(
      ...(this.#options.machine.columns.owner ? [slot.owner] : slot.token === undefined ? [] : [slot.token]),
    )
    this.#bell.wake()
  }

  /** Takes their rows from the dead. Throws what the database throws; they are not forgotten. */
  async #reap(): Promise<void> {
    const dead = this.#dead
    await this.#queue.requeueClaimsOf(dead)
    this.#dead = this.#dead.filter((each) => !dead.includes(each))
  }

  async #drain(force: AbortSignal | undefined): Promise<void> {
    const kill = () => {
      for (const slot of this.#slots) slot.kill()
    }
    for (const slot of this.#slots) slot.drain()
    if (force?.aborted) kill()
    force?.addEventListener('abort', kill, { once: true })
    const timer = setTimeout(kill, this.#options.drainMs ?? DRAIN_MS)
    while (this.#slots.size > 0) await this.#bell.wait(TICK_MS)
    clearTimeout(timer)
    force?.removeEventListener('abort', kill)
    await this.#reap().catch((error) => this.#report(error)) // Else their leases end by themselves.
  }

  #report(error: unknown): void {
    if (this.#options.onError) this.#options.onError(asError(error))
    else process.emitWarning(asError(error))
  }
}
