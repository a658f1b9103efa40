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
/** The spawn policy does not distinguish longer queues. */
const COUNT_AT_MOST = 11
/** An actor that has not exited this long after a force is killed. */
const DEAF_MS = 3_000
/** An actor reports every few seconds. One that was started or woken and is silent for this long is stuck. */
const MUTE_MS = 30_000
/** An idle actor exits within moments of being asked to. */
const LEAVE_MS = 10_000
/** How long the reaping of the last actors is waited for: the database may be silent, and others can reap, too. */
const REAP_MS = 3_000
const FORCED_REAP_MS = 1_000
/** How often actors that should exit are checked. */
const CLOSING_MS = 2_000

/**
 * The actors of one kind below one supervisor. The pool starts a few at a time while rows wait, wakes, drains and reaps
 * them. The claims of a dead actor are due again at once, long before its lease would end. `run` is a complete loop;
 * callers with a loop of their own use `fill`, `killStuck` and `close`.
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
  /** How often a row got further; those that were released as they had been do not count. */
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

  /** The running actors, by process id; those in this process have none. */
  get running(): readonly Pick<ActorSlot, 'owner' | 'pid' | 'state'>[] {
    return [...this.#roster.there]
  }

  /** Actors that run or are not yet reaped. */
  get size(): number {
    return this.#roster.size
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
  async run({ signal, force }: { readonly signal?: AbortSignal; readonly force?: AbortSignal } = {}): Promise<void> {
    const { drainMs = DRAIN_MS, tickMs = TICK_MS, exitOnIdle } = this.#options
    if (signal) void aborted(signal).then(() => this.#stop.requestDrain(drainMs, false))
    if (force) void aborted(force).then(() => this.#stop.requestForce(false))
    await undefined // Lets a signal that has already aborted take effect before an actor is started.
    for (let isIdle = false; !this.#stop.drain.aborted && !(isIdle && exitOnIdle); ) {
      try {
        await this.killStuck()
        const waiting = await this.#pending.count(COUNT_AT_MOST)
        await this.fill(waiting)
        isIdle = waiting === 0 && this.size === 0
      } catch (error) {
        this.#report(error) // The database is away: the next round tries again.
      }
      if (!(isIdle && exitOnIdle)) await this.#bell.wait(tickMs, this.#stop.drain)
    }
    const late = setTimeout(() => this.#stop.requestForce(false), drainMs)
    await this.close()
    clearTimeout(late)
  }

  /** Has idle actors look for work. @returns how many */
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
    for (let started = 0; started < count && !this.#stop.drain.aborted; started += 1) await this.#start()
  }

  /**
   * Limits the number of actors to `max` from now on: surplus ones exit after their current work. Calls `onSmall` then.
   */
  resize(max: number, onSmall: () => void): void {
    this.#max = max
    this.#onSmall = onSmall
    const idleFirst = [...this.#roster.there].sort((a, b) => Number(b.state === 'idle') - Number(a.state === 'idle'))
    for (const { body } of idleFirst.slice(0, Math.max(0, this.size - max)))
      body.send({ type: 'drain', capMs: null, isExplained: true })
    this.#sayWhenSmall()
  }

  /** Asks every actor to exit after its current work. */
  drain(): void {
    const { capMs, isExplained } = this.#stop
    this.#roster.tell({ type: 'drain', capMs: Number.isFinite(capMs) ? capMs : null, isExplained })
  }

  /** Makes every actor stop its work and exit. */
  force(): void {
    this.#roster.tell({ type: 'force', isExplained: this.#stop.isExplained })
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
    this.#kill('does not answer', this.#standstill.mute(this.#roster.there, MUTE_MS))
    this.#kill('gets nowhere', this.#standstill.overdue(this.#roster.there))
    this.#kill('does not renew its lease', await this.#standstill.late(this.#roster.there))
  }

  /**
   * Drains, and waits until all actors are gone, and a moment for them to be reaped; `force` of the stop cuts the wait
   * short. A process that nobody can end is not waited for.
   */
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
    let goneAt = Number.POSITIVE_INFINITY
    for (let lookAt = performance.now() + CLOSING_MS, over = 0; this.size > 0; ) {
      const mayGo = [...this.#roster.there].some((slot) => !slot.hasSurvived)
      goneAt = mayGo ? Number.POSITIVE_INFINITY : Math.min(goneAt, performance.now())
      if (performance.now() - goneAt > (stop.force.aborted ? FORCED_REAP_MS : REAP_MS)) break
      // Repeating the order is harmless, and reaches an actor that was still starting the first time.
      this.drain()
      await this.#bell.wait(200)
      if (performance.now() < lookAt) continue
      lookAt = performance.now() + CLOSING_MS
      // Whoever waits for us must not wait for a stuck actor: it has had its time, and as much again.
      over = stop.capMs === 0 ? over + CLOSING_MS : 0
      if (over > DEAF_MS) this.#roster.kill()
      this.#kill('does not answer', this.#standstill.mute(this.#roster.there, LEAVE_MS))
      // Not waited for: the database may be silent. While it is away the next check tries again.
      void this.#standstill.late(this.#roster.there).then(
        (late) => this.#kill('does not renew its lease', late),
        () => {},
      )
    }
    clearTimeout(killTimer)
    stop.force.removeEventListener('abort', onForce)
  }

  #kill(why: string, slots: readonly ActorSlot[]): void {
    for (const { owner, pid, isKilled } of slots) {
      if (!isKilled) this.#report(new Error(`${this.#name} ${pid ?? ''} ${why}: killing it`))
      for (const each of this.#roster.there) if (each.owner === owner) each.kill()
    }
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
    const { there, dying } = this.#roster
    there.delete(slot)
    dying.add(slot)
    // Those that shared a process are reaped together, once the last one is known to be gone.
    if (!exit.othersGoOn && [...there].some(({ owner }) => owner === slot.owner)) return
    const gone = exit.othersGoOn ? [slot] : [...dying].filter(({ owner }) => owner === slot.owner)
    if (exit.code !== 0) this.#pauseAfter(gone.some(({ state }) => state === 'busy') ? 'atWork' : 'idle')
    const reaping = exit.othersGoOn ? Promise.resolve() : (this.#options.reap ?? this.#requeue)(slot, exit)
    void reaping
      .catch((error: unknown) => this.#report(error)) // Its leases end by themselves.
      .finally(() => {
        for (const each of gone) dying.delete(each)
        this.#divide()
        this.#sayWhenSmall()
        this.#bell.wake()
      })
  }

  /** Reports how an actor ended and releases its rows, when the caller does not reap. */
  readonly #requeue = async ({ owner, pid, token }: ActorSlot, { code, signal, error }: Exit): Promise<void> => {
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
