import { Bell } from '../base/abort.ts'
import { Stop } from '../base/stop.ts'
import type { FromActor, ToActor } from './actor-messages.ts'
import type { ActorPoolOptions } from './actor-pool-options.ts'
import { type ActorBody, ActorSlot, type Exit, startActor } from './actor-slot.ts'
import { asError } from './as-error.ts'
import { CrashPause } from './crash-pause.ts'
import type { Machine } from './machine.ts'
import { closePool } from './pool-closing.ts'
import { runPool, type Until } from './pool-loop.ts'
import { Queue } from './queue.ts'
import { type Reaping, reapActor } from './reap-actor.ts'
import { Roster } from './roster.ts'
import { SlotAllocator } from './slot-allocator.ts'
import { actorsToSpawn, MAX_CONCURRENT_ACTORS } from './spawn-policy.ts'
import { Standstill } from './standstill.ts'

/** Tells an actor to exit after its current work, because there are too many. */
const LEAVE: ToActor = { type: 'drain', capMs: null, isExplained: true }

/**
 * The actors of one kind below one supervisor. The pool starts a few at a time while rows wait, wakes, drains and reaps
 * them. The claims of a dead actor are due again at once, long before its lease would end. `run` is a complete loop;
 * callers with a loop of their own use `fill`, `killStuck` and `close`.
 */
export class ActorPool {
  readonly #options: ActorPoolOptions
  readonly #reaping: Reaping
  readonly #roster = new Roster()
  readonly #stuck: Standstill
  readonly #allocator: SlotAllocator<ActorSlot> | undefined
  readonly #stop: Stop
  readonly #bell: Bell
  readonly #pause = new CrashPause()
  #max: number
  #starting = 0
  #onSmall: (() => void) | undefined
  /** How often a row made progress; rows that were released unchanged do not count. */
  changes = 0
  /** Whether any actor was ever started. */
  used = false

  constructor(options: ActorPoolOptions) {
    const { machine, sql, slots, name = 'actor' } = options
    this.#options = options
    this.#max = options.maxConcurrentActors ?? MAX_CONCURRENT_ACTORS
    this.#stop = options.stop ?? new Stop()
    this.#bell = options.bell ?? new Bell()
    const queue = new Queue<Machine>(machine, sql, options.queue)
    this.#reaping = { queue, name, report: this.#report, leaving: this.#stop.drain }
    this.#stuck = new Standstill(this.#roster, queue, (why) => this.#report(new Error(`${name} ${why}`)))
    this.#allocator = slots === undefined ? undefined : new SlotAllocator(slots)
  }

  /** The running actors, by process id; those in this process have none. */
  get running(): readonly Pick<ActorSlot, 'owner' | 'pid' | 'state'>[] {
    return [...this.#roster.there]
  }

  /** Actors that are being started, run, or are not yet reaped. */
  get size(): number {
    return this.#starting + this.#roster.size
  }

  get busy(): number {
    return this.#roster.atWork.length
  }

  /** Deaths of actors in a row, since one last made progress. */
  get crashes(): number {
    return this.#pause.crashes
  }

  /**
   * Runs until `signal` (drain) or `force` (stop) aborts; with `exitOnIdle`, until there is nothing to do. Never
   * throws.
   */
  async run(until: Until = {}): Promise<void> {
    await runPool(this, this.#options, { stop: this.#stop, bell: this.#bell, report: this.#report }, until)
  }

  /** Makes idle actors look for work. @returns how many */
  wake(): number {
    const idle = this.#roster.in('idle')
    for (const slot of idle) slot.ask({ type: 'wake' })
    return idle.length
  }

  /**
   * One round of the spawn policy for `due` waiting rows: wakes idle actors and starts missing ones, at most two at a
   * time.
   */
  async fill(due: number): Promise<void> {
    if (due === 0) return
    const idle = this.wake()
    const missing = due - idle - this.#roster.in('starting').length
    const count = this.#pause.isOver ? Math.min(missing, actorsToSpawn(due, this.size, this.#max)) : 0
    const mayStart = () => this.size < this.#max && !this.#stop.drain.aborted
    for (let started = 0; started < count && mayStart(); started += 1) await this.#start()
  }

  /**
   * Limits the number of actors to `max` from now on: surplus ones exit after their current work. Calls `onSmall` then.
   */
  resize(max: number, onSmall: () => void): void {
    this.#max = max
    this.#onSmall = onSmall
    const idleFirst = [...this.#roster.there].sort((a, b) => Number(b.state === 'idle') - Number(a.state === 'idle'))
    for (const { body } of idleFirst.slice(0, Math.max(0, this.#roster.size - max))) body.send(LEAVE)
    this.#sayWhenSmall()
  }

  /** Asks every actor to exit after its current work. */
  drain(): void {
    this.#roster.drain(this.#stop)
  }

  /** Makes every actor stop its work and exit. */
  force(): void {
    this.#roster.force(this.#stop)
  }

  /** Sends a note to every actor, for its `onNote`. */
  note(note: unknown): void {
    this.#roster.tell({ type: 'note', note })
  }

  /** Makes every actor check at once whether its claim still holds. */
  recheck(): void {
    this.#roster.tell({ type: 'recheck' })
  }

  /** Kills stuck actors; reaping them makes their work due again. Throws errors of the database. */
  async killStuck(): Promise<void> {
    await this.#stuck.kill()
  }

  /**
   * Drains, and waits until all actors are gone, and a moment for them to be reaped; `force` of the stop cuts the wait
   * short. It does not wait for a process that nobody can end.
   */
  async close(): Promise<void> {
    await closePool(this.#roster, this.#stuck, this.#stop, this.#bell)
  }

  #sayWhenSmall(): void {
    if (this.size > this.#max) return
    this.#onSmall?.()
    this.#onSmall = undefined
  }

  /**
   * Gives each actor at work its share of the slots, the others none. A dead one keeps its share until it is reaped.
   */
  #divide(): void {
    for (const [{ body }, count] of this.#allocator?.divide(this.#roster.atWork) ?? [])
      body.send({ type: 'slots', count })
  }

  async #start(): Promise<void> {
    const { actors } = this.#options
    this.#starting += 1
    const body = await this.#launch().finally(() => {
      this.#starting -= 1
      this.#sayWhenSmall()
    })
    if (!body) return
    if (this.#roster.size > this.#max) body.send(LEAVE) // The limit was lowered meanwhile.
    if (actors.mode === 'custom') await actors.started?.(body)
  }

  async #launch(): Promise<ActorBody | undefined> {
    this.used = true
    const { actors, launch = {} } = this.#options
    const body = await startActor(actors, launch)
    if (!body) {
      this.#pauseAfter('idle')
      return undefined
    }
    const slot = new ActorSlot(body)
    this.#roster.there.add(slot)
    this.#divide()
    body.listen((message) => this.#hear(slot, message))
    void body.gone.then((exit) => this.#ended(slot, exit))
    return body
  }

  #pauseAfter(how: 'atWork' | 'idle'): void {
    setTimeout(() => this.#bell.wake(), this.#pause.crashed(how)).unref()
  }

  #hear(slot: ActorSlot, message: FromActor): void {
    const { state } = slot
    slot.heard(message)
    const { type } = message
    if (type === 'note') this.#options.onNote?.(message.note)
    if (type === 'here' || type === 'note') return
    if (type === 'slots released') this.#allocator?.released(slot, message.count)
    // It holds no claim: its slots are free until it has work again.
    if (type === 'idle' && this.#allocator) slot.body.send({ type: 'slots', count: 0 })
    if (type === 'progress') {
      if (message.settled) this.changes += 1
      this.#pause.gotSomewhere()
    }
    this.#divide()
    if (type === 'idle' || type === 'progress' || slot.state !== state) this.#bell.wake()
  }

  #ended(slot: ActorSlot, exit: Exit): void {
    const gone = this.#roster.exited(slot, exit)
    if (gone.length === 0) return
    if (exit.code !== 0) this.#pauseAfter(gone.some(({ state }) => state === 'busy') ? 'atWork' : 'idle')
    void this.#reap(slot, exit)
      .catch(this.#report) // Its leases end by themselves.
      .finally(() => {
        this.#roster.reaped(gone)
        this.#divide()
        this.#sayWhenSmall()
        this.#bell.wake()
      })
  }

  async #reap(slot: ActorSlot, exit: Exit): Promise<void> {
    if (exit.othersGoOn) return
    if (this.#options.reap) return await this.#options.reap(slot, exit)
    await reapActor(slot, exit, this.#reaping)
  }

  readonly #report = (error: unknown): void => {
    if (this.#options.onError) this.#options.onError(asError(error))
    else process.emitWarning(asError(error))
  }
}
