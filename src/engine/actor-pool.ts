import { aborted, Bell } from '../base/abort.ts'
import { Stop } from '../base/stop.ts'
import type { FromActor } from './actor-messages.ts'
import type { ActorPoolOptions } from './actor-pool-options.ts'
import { ActorSlot, type Exit, startActor } from './actor-slot.ts'
import { CrashPause } from './crash-pause.ts'
import { asError } from './executor.ts'
import type { Machine } from './machine.ts'
import { Queue } from './queue.ts'
import { requeueDead } from './requeue-dead.ts'
import { Roster } from './roster.ts'
import { SlotAllocator } from './slot-allocator.ts'
import { actorsToSpawn, MAX_CONCURRENT_ACTORS } from './spawn-policy.ts'
import { Standstill } from './standstill.ts'
import { type QueueView, viewsOf } from './views.ts'

const TICK_MS = 1_000
const DRAIN_MS = 60_000
/** The spawn policy asks for no more. */
const COUNT_AT_MOST = 11
/** An actor that was told to stop at once and is there so much later does not listen. */
const DEAF_MS = 3_000
/**
 * An actor says every few seconds that it is there. One that was started, or woken, and says nothing for so long stands
 * still.
 */
const MUTE_MS = 30_000
/** One that has nothing to do leaves within moments when it is asked to. */
const LEAVE_MS = 10_000
/** How often those who are to leave are looked after. */
const CLOSING_MS = 2_000

/**
 * The actors of one kind below one supervisor: started while rows wait, a few at a time, woken, drained, and reaped.
 * What a dead one had claimed is due again at once, long before its lease would end. `run` is a loop of its own; who
 * has one calls `fill`, `killStuck` and `close`.
 */
export class ActorPool {
  readonly #options: ActorPoolOptions
  readonly #queue: Queue<Machine>
  readonly #pending: QueueView<unknown>
  readonly #standstill: Standstill
  readonly #allocator: SlotAllocator<ActorSlot> | undefined
  readonly #stop: Stop
  readonly #bell: Bell
  readonly #pause = new CrashPause()
  readonly #roster = new Roster()
  #max: number
  #onSmall: (() => void) | undefined
  /** How often an actor said that something was finished. */
  changes = 0
  /** Was any actor ever started? */
  used = false

  constructor(options: ActorPoolOptions) {
    const { machine, sql, queue, values, slots } = options
    this.#options = options
    this.#max = options.maxConcurrentActors ?? MAX_CONCURRENT_ACTORS
    this.#queue = new Queue(machine, sql, queue)
    this.#pending = viewsOf(machine, sql, queue, () => (values?.() ?? []).slice(0, queue?.whereValues ?? 0)).pending
    this.#standstill = new Standstill(this.#queue)
    this.#allocator = slots === undefined ? undefined : new SlotAllocator(slots)
    this.#stop = options.stop ?? new Stop()
    this.#bell = options.bell ?? new Bell()
  }

  /** The actors that run, by process id; in-process ones have none. */
  get running(): readonly Pick<ActorSlot, 'owner' | 'pid' | 'state'>[] {
    return [...this.#roster.there]
  }

  /** Actors that are there, or not yet reaped. */
  get size(): number {
    return this.#roster.size
  }

  get busy(): number {
    return this.#roster.atWork.length
  }

  /** Actors that died, one after another, since one last got somewhere. */
  get crashes(): number {
    return this.#pause.crashes
  }

  /**
   * Works until `signal` aborts (drains) or `force` does (stops); with `exitOnIdle`, until there is nothing to do.
   * Never throws.
   */
  async run({ signal, force }: { readonly signal?: AbortSignal; readonly force?: AbortSignal } = {}): Promise<void> {
    const { drainMs = DRAIN_MS, tickMs = TICK_MS, exitOnIdle } = this.#options
    if (signal) void aborted(signal).then(() => this.#stop.requestDrain(drainMs, false))
    if (force) void aborted(force).then(() => this.#stop.requestForce(false))
    await undefined // One that has aborted already is heard before anybody is started.
    for (let isIdle = false; !this.#stop.drain.aborted && !(isIdle && exitOnIdle); ) {
      try {
        await this.killStuck()
        const waiting = await this.#pending.count(COUNT_AT_MOST)
        await this.fill(waiting)
        isIdle = waiting === 0 && this.size === 0
      } catch (error) {
        this.#report(error) // The database is away: later.
      }
      if (!(isIdle && exitOnIdle)) await this.#bell.wait(tickMs, this.#stop.drain)
    }
    const late = setTimeout(() => this.#stop.requestForce(false), drainMs)
    await this.close()
    clearTimeout(late)
  }

  /**
   * One round of the spawn policy for `due` waiting rows: wakes the idle, starts what is missing, at most one or two at
   * a time.
   */
  async fill(due: number): Promise<void> {
    if (due === 0) return
    const idle = this.#roster.in('idle')
    for (const slot of idle) slot.ask({ type: 'wake' })
    const missing = due - idle.length - this.#roster.in('starting').length
    const count = this.#pause.isOver ? Math.min(missing, actorsToSpawn(due, this.size, this.#max)) : 0
    for (let started = 0; started < count; started += 1) await this.#start()
  }

  /**
   * From now on at most so many actors: those beyond leave when what they run has ended. `onSmall` is called when they
   * have.
   */
  resize(max: number, onSmall: () => void): void {
    this.#max = max
    this.#onSmall = onSmall
    const idleFirst = [...this.#roster.there].sort((a, b) => Number(b.state === 'idle') - Number(a.state === 'idle'))
    for (const { body } of idleFirst.slice(0, Math.max(0, this.size - max)))
      body.send({ type: 'drain', capMs: null, isExplained: true })
    this.#sayWhenSmall()
  }

  /** Asks every actor to leave when what it runs has ended. */
  drain(): void {
    const { capMs, isExplained } = this.#stop
    this.#roster.tell({ type: 'drain', capMs: Number.isFinite(capMs) ? capMs : null, isExplained })
  }

  /** Has every actor stop what it runs, and leave. */
  force(): void {
    this.#roster.tell({ type: 'force', isExplained: this.#stop.isExplained })
  }

  /** Has every actor see at once whether its claim still holds. */
  recheck(): void {
    this.#roster.tell({ type: 'recheck' })
  }

  /** Kills actors that are there and do nothing. Reaping makes their work due. Throws what the database throws. */
  async killStuck(): Promise<void> {
    this.#kill('does not answer', this.#standstill.mute(this.#roster.there, MUTE_MS))
    this.#kill('gets nowhere', this.#standstill.overdue(this.#roster.there))
    this.#kill('does not renew its lease', await this.#standstill.late(this.#roster.there))
  }

  /** Drains, and waits until all are gone and reaped; `force` of the stop cuts it short. */
  async close(): Promise<void> {
    const stop = this.#stop
    this.drain()
    for (const slot of this.#roster.in('idle')) slot.askedAt ??= performance.now()
    let killTimer: NodeJS.Timeout | undefined
    const onForce = () => {
      this.force()
      killTimer = setTimeout(() => this.#roster.kill(), DEAF_MS)
    }
    stop.force.addEventListener('abort', onForce)
    if (stop.force.aborted) onForce()
    for (let lookAt = performance.now() + CLOSING_MS, over = 0; this.size > 0; ) {
      // An actor can be asked again at no cost: one that was only just starting missed the first time.
      this.drain()
      await this.#bell.wait(200)
      if (performance.now() < lookAt) continue
      lookAt = performance.now() + CLOSING_MS
      // Whoever waits for us must not wait for one that stands still: its time was over, and it had as much again.
      over = stop.capMs === 0 ? over + CLOSING_MS : 0
      if (over > DEAF_MS) this.#roster.kill()
      this.#kill('does not answer', this.#standstill.mute(this.#roster.there, LEAVE_MS))
      const late = await this.#standstill.late(this.#roster.there).catch(() => []) // The database is away: later.
      this.#kill('does not renew its lease', late)
    }
    clearTimeout(killTimer)
    stop.force.removeEventListener('abort', onForce)
  }

  #kill(why: string, slots: readonly ActorSlot[]): void {
    for (const { body, pid } of slots) {
      this.#report(new Error(`${this.#name} ${pid ?? ''} ${why}: killing it`))
      body.kill()
    }
  }

  #sayWhenSmall(): void {
    if (this.size > this.#max) return
    this.#onSmall?.()
    this.#onSmall = undefined
  }

  /**
   * Gives those that have work their share of the slots; to the others nothing. A dead one keeps its share until it is
   * reaped.
   */
  #divide(): void {
    for (const [{ body }, count] of this.#allocator?.divide(this.#roster.atWork) ?? [])
      body.send({ type: 'slots', count })
  }

  async #start(): Promise<void> {
    this.used = true
    const { actors, launch = {} } = this.#options
    const body = await startActor(actors, launch)
    if (!body) return this.#pauseAfter('idle')
    const slot = new ActorSlot(body)
    this.#roster.there.add(slot)
    this.#divide()
    body.listen((message) => this.#hear(slot, message))
    void body.gone.then((exit) => this.#ended(slot, exit))
    if (actors.mode === 'custom') await actors.started?.(body)
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
    // What it has left holds no claim: it is nobody's share, until there is work again.
    if (type === 'idle' && this.#allocator) slot.body.send({ type: 'slots', count: 0 })
    if (type === 'progress') {
      this.changes += 1
      this.#pause.gotSomewhere()
    }
    this.#divide()
    if (type === 'idle' || type === 'progress' || slot.state !== state) this.#bell.wake()
  }

  #ended(slot: ActorSlot, exit: Exit): void {
    const { there, dying } = this.#roster
    there.delete(slot)
    dying.add(slot)
    if (exit.code !== 0) this.#pauseAfter(slot.state === 'busy' ? 'atWork' : 'idle')
    const reaping = this.#options.reap ? this.#options.reap(slot, exit) : this.#requeue(slot, exit)
    void reaping
      .catch((error: unknown) => this.#report(error)) // Else its leases end by themselves.
      .finally(() => {
        dying.delete(slot)
        this.#divide()
        this.#sayWhenSmall()
        this.#bell.wake()
      })
  }

  /** Where nobody else reaps: says how it ended, and takes its rows from it. */
  async #requeue({ owner, pid, token }: ActorSlot, { code, signal, error }: Exit): Promise<void> {
    if (error) this.#report(error)
    else if (code !== 0) this.#report(new Error(`${this.#name} ${pid} ended with ${signal ?? `exit code ${code}`}`))
    const known = this.#options.machine.columns.owner ? owner : token
    if (known !== undefined) await requeueDead(this.#queue, known, this.#stop.drain, (why) => this.#report(why))
  }

  get #name(): string {
    return this.#options.name ?? 'actor'
  }

  #report(error: unknown): void {
    if (this.#options.onError) this.#options.onError(asError(error))
    else process.emitWarning(asError(error))
  }
}
