import { randomUUID } from 'node:crypto'
import { aborted, sleep } from '../base/abort.ts'
import { ACTOR_DEFAULTS, type ActorOptions, type ActorSettings } from './actor-options.ts'
import type { AnyClaimed } from './claimed.ts'
import { Counts } from './counts.ts'
import { asError, Executor } from './executor.ts'
import type { Context, Work } from './handlers.ts'
import { keepClaims } from './keepers.ts'
import type { Machine } from './machine.ts'
import { LEASE_SECONDS, Queue } from './queue.ts'
import type { TickEnd } from './tick.ts'
import { type QueueView, type ViewName, viewsOf } from './views.ts'

/** Nothing is due. */
export class QueueIsEmpty extends Error {
  override readonly name = 'QueueIsEmpty'
}

/** Something is due, but somebody else was faster. */
export class ObjectAlreadyClaimed extends Error {
  override readonly name = 'ObjectAlreadyClaimed'
}

/** A loop over one queue, one row at a time: claims, ticks, and leaves when there has been nothing to do for a while. */
export class Actor<M extends Machine, Row = Record<string, unknown>> {
  readonly queues: Readonly<Record<ViewName, QueueView<Row>>>
  readonly #options: ActorSettings<M, Row>
  readonly #queue: Queue<M, Row>
  readonly #executor: Executor
  readonly #owner: string

  /** Throws TypeError when `handlers` has no function with the name of the event. */
  constructor(options: ActorOptions<M, Row>) {
    this.#options = { ...ACTOR_DEFAULTS, ...options }
    const { sql, handlers, eventName, claimOrder, maxTickMs } = this.#options
    const { machine } = handlers
    const event = (handlers as unknown as Record<string, unknown>)[eventName]
    if (typeof event !== 'function')
      throw new TypeError(`the handlers of "${machine.name}" have no function "${eventName}"`)
    const queueOptions = { ...options.queue, order: claimOrder }
    this.#queue = new Queue(machine, sql, queueOptions)
    this.queues = viewsOf(machine, sql, queueOptions, () => this.#whereValues)
    this.#owner = options.owner ?? randomUUID()
    const tick = async (claim: AnyClaimed<M, Row>, context: Context) => {
      await options.onTickStart?.(claim)
      return await (event as (claim: AnyClaimed<M, Row>, context: Context) => unknown)(claim, context)
    }
    this.#executor = new Executor({
      ...{
        model: { machine, tick: tick as Work },
        queue: this.#queue as unknown as Queue<Machine, unknown>,
        sql,
        deadlineMs: maxTickMs,
      },
      ...{
        log: options.log,
        leaseSeconds: this.#leaseSeconds,
        by: options.by ?? null,
        counts: new Counts(),
        onRoom: () => {},
      },
      onError: (error, claim) => this.#report(error, claim as AnyClaimed<M, Row> | undefined),
    })
  }

  /**
   * Claims a row: in one statement one of the first `claimFromTopN`, or, not atomic, the first one in two. Throws QueueIsEmpty or
   * ObjectAlreadyClaimed.
   */
  async getNext({
    atomic = this.#options.claimAtomic,
  }: {
    readonly atomic?: boolean
  } = {}): Promise<AnyClaimed<M, Row>> {
    return atomic ? await this.#getNextAtomic() : await this.#getNextNonAtomic()
  }

  /** One handler run of one claimed row, to its end: its outcome is written, or its failure, or the row was lost. Never throws. */
  async tick(claim: AnyClaimed<M, Row>): Promise<TickEnd> {
    const over = new AbortController()
    const keeping = keepClaims(
      [{ executor: this.#executor, leaseSeconds: this.#leaseSeconds }],
      (error) => this.#report(asError(error)),
      over.signal,
    )
    const end = await new Promise<TickEnd>((resolve) => this.#executor.start(claim, performance.now(), resolve))
    over.abort()
    await Promise.all(keeping)
    if (end.how === 'failed') await this.#call(() => this.#options.onTickException?.(claim, end.error))
    else await this.#call(() => this.#options.onTickEnd?.(claim))
    return end
  }

  /** Claims this very row, if it is due, and ticks once. False: somebody else has it, or it is not due; then nothing was done. */
  async tickClaimed(id: string): Promise<boolean> {
    const claim = await this.#queue.claimRow(id, this.#claimOptions())
    if (claim) await this.tick(claim)
    return claim !== undefined
  }

  /**
   * Works until nothing has been due for some time, or until `signal` aborts: then it ends its tick and leaves. `force` stops the tick, and gives
   * its row back. Throws what `onStartup` throws.
   */
  async run({ signal, force }: { readonly signal?: AbortSignal; readonly force?: AbortSignal } = {}): Promise<void> {
    const stop = AbortSignal.any([signal, force].filter((each) => each !== undefined))
    if (force) void aborted(force).then(() => this.#executor.putAllBack(asError(force.reason)))
    const { idleMs, maxIdleTicks } = this.#options
    let last: AnyClaimed<M, Row> | undefined
    let lastError: Error | undefined
    await this.#options.onStartup?.()
    for (let idle = 0; !stop.aborted && idle < maxIdleTicks; ) {
      try {
        last = await this.getNext()
        idle = 0
        const end = await this.tick(last)
        lastError = end.how === 'failed' ? end.error : undefined
      } catch (error) {
        if (error instanceof ObjectAlreadyClaimed) continue
        if (error instanceof QueueIsEmpty) idle += 1
        else {
          lastError = asError(error)
          this.#report(lastError)
        }
        if (idle < maxIdleTicks) await sleep(idleMs, stop)
      }
    }
    await this.#call(() => this.#options.onShutdown?.(last, lastError))
  }

  async #getNextAtomic(): Promise<AnyClaimed<M, Row>> {
    const found = await this.#queue.pick(this.#options.claimFromTopN, this.#claimOptions())
    if (found === 'empty') throw this.#empty()
    if (found === 'taken') throw this.#taken()
    return found
  }

  async #getNextNonAtomic(): Promise<AnyClaimed<M, Row>> {
    const [row] = await this.#queue.due(1, this.#whereValues)
    if (!row) throw this.#empty()
    const id = String((row as Record<string, unknown>)[this.#queue.machine.columns.id])
    const claim = await this.#queue.claimRow(id, this.#claimOptions())
    if (!claim) throw this.#taken()
    return claim
  }

  #claimOptions() {
    const token = randomUUID()
    this.#options.onClaiming?.(token)
    return { token, owner: this.#owner, leaseSeconds: this.#leaseSeconds, values: this.#options.values?.() ?? [] }
  }

  get #whereValues(): readonly unknown[] {
    return (this.#options.values?.() ?? []).slice(0, this.#options.queue?.whereValues ?? 0)
  }

  get #leaseSeconds(): number {
    return this.#options.leaseSeconds ?? LEASE_SECONDS
  }

  #empty = () => new QueueIsEmpty(`${this.#queue.machine.name}: nothing is due`)
  #taken = () => new ObjectAlreadyClaimed(`${this.#queue.machine.name}: somebody else was faster`)

  async #call(hook: () => unknown): Promise<void> {
    try {
      await hook()
    } catch (error) {
      this.#report(asError(error))
    }
  }

  #report(error: Error, claim?: AnyClaimed<M, Row>): void {
    if (this.#options.onError) this.#options.onError(error, claim)
    else process.emitWarning(error)
  }
}
