import { aborted, Bell } from '../base/abort.ts'
import { elapsed } from '../base/elapsed.ts'
import { ActorClaims, ObjectAlreadyClaimed, QueueIsEmpty } from './actor-claims.ts'
import { ACTOR_DEFAULTS, type ActorOptions, type ActorSettings } from './actor-options.ts'
import { asError } from './as-error.ts'
import type { ClaimOptions } from './claim-statements.ts'
import type { AnyClaimed, SomeClaim } from './claimed.ts'
import { Counts } from './counts.ts'
import { Executor } from './executor.ts'
import type { AnyHandler, Context } from './handlers.ts'
import { keepClaims } from './keep-claims.ts'
import type { Machine } from './machine.ts'
import { Queue } from './queue.ts'
import type { TickEnd } from './tick.ts'
import { type QueueView, type ViewName, viewsOf } from './views.ts'

/**
 * A loop over one queue, one row at a time: it claims, ticks, and exits after a while without work. In a pool it
 * reports what it is doing and takes orders.
 */
export class Actor<M extends Machine, Row = Record<string, unknown>> {
  readonly queues: Readonly<Record<ViewName, QueueView<Row>>>
  readonly #options: ActorSettings<M, Row>
  readonly #queue: Queue<M, Row>
  readonly #executor: Executor
  readonly #claims: ActorClaims<M, Row>
  readonly #bell: Bell
  #warmUp: (() => void) | undefined
  /** While it runs: when no further row is to be claimed. */
  #stop: AbortSignal | undefined

  /** Throws TypeError when `handlers` has no function named `eventName`. */
  constructor(options: ActorOptions<M, Row>) {
    this.#options = { ...ACTOR_DEFAULTS, ...options }
    const { sql, handlers, eventName, claimOrder, maxTickMs, supervised } = this.#options
    const { machine, giveUp } = handlers
    const event = (handlers as unknown as Record<string, unknown>)[eventName]
    if (typeof event !== 'function')
      throw new TypeError(`the handlers of "${machine.name}" have no function "${eventName}"`)
    this.#queue =
      options.queue instanceof Queue
        ? options.queue
        : new Queue<M, Row>(machine, sql, { ...options.queue, order: claimOrder })
    this.#claims = new ActorClaims(this.#queue, this.#options, this.#leaseSeconds)
    this.queues = viewsOf(machine, sql, this.#queue.options, () => this.#claims.whereValues)
    this.#warmUp = options.warmUp
    this.#bell = supervised?.bell ?? new Bell()
    const afterStart = (work: AnyHandler) => async (claim: AnyClaimed<M, Row>, context: Context) => {
      await options.onTickStart?.(claim)
      return await (work as (claim: AnyClaimed<M, Row>, context: Context) => unknown)(claim, context)
    }
    this.#executor = new Executor({
      model: {
        machine,
        tick: afterStart(event as AnyHandler) as AnyHandler,
        ...(giveUp ? { giveUp: afterStart(giveUp) as AnyHandler } : {}),
      },
      ...{ queue: this.#queue as unknown as Queue<Machine, unknown>, sql, deadlineMs: maxTickMs },
      ...{ log: options.log, leaseSeconds: this.#leaseSeconds, waitForHandlers: options.waitForHandlers },
      ...{ by: options.by ?? null, counts: new Counts(), onSlotsFree: () => {} },
      next: options.waitForHandlers && !options.onClaiming ? () => this.#nextWithEnd() : undefined,
      onProgress: supervised && ((forMs) => supervised.tell({ type: 'busy', forMs })),
      onError: (error, claim) => this.#report(error, claim as AnyClaimed<M, Row> | undefined),
    })
  }

  /**
   * Claims a row: one of the first `claimFromTopN` in one statement, or, when not atomic, the first one in two. Throws
   * QueueIsEmpty or ObjectAlreadyClaimed.
   */
  async getNext({
    atomic = this.#options.claimAtomic,
  }: {
    readonly atomic?: boolean
  } = {}): Promise<AnyClaimed<M, Row>> {
    return await this.#claims.next(atomic)
  }

  /**
   * Runs the handler of one claimed row to its end: writes its outcome or failure, unless the row was lost. Never
   * throws.
   */
  async tick(claim: AnyClaimed<M, Row>): Promise<TickEnd> {
    const over = new AbortController()
    const { supervised } = this.#options
    const report = (error: unknown) => {
      if (!over.signal.aborted) this.#report(asError(error))
    }
    const recheck = () => void this.#executor.renew().catch(report)
    supervised?.onRecheck.add(recheck)
    // Not awaited: a renewal that is still under way at the end does not matter.
    void keepClaims([{ executor: this.#executor, leaseSeconds: this.#leaseSeconds }], report, over.signal)
    const end = await new Promise<TickEnd>((resolve) =>
      this.#executor.start(claim as SomeClaim, this.#claims.claimedAt || elapsed(), resolve),
    )
    over.abort()
    supervised?.onRecheck.delete(recheck)
    if (end.how === 'failed') await this.#call(() => this.#options.onTickException?.(claim, end.error))
    else await this.#call(() => this.#options.onTickEnd?.(claim))
    supervised?.tell({ type: 'progress', settled: end.how === 'settled' })
    return end
  }

  /**
   * Claims this row, if it is due, and ticks once. False when it is not due or claimed elsewhere; nothing was done
   * then.
   */
  async tickClaimed(id: string): Promise<boolean> {
    const claim = await this.#queue.claimRow(id, this.#claims.options())
    if (claim) await this.tick(claim)
    return claim !== undefined
  }

  /**
   * Runs until nothing has been due for some time, or until `signal` aborts, after the current tick. `force` stops the
   * tick and releases its row. Throws what `onStartup` throws, and what `onError` throws about a claim.
   */
  async run({ signal, force }: { readonly signal?: AbortSignal; readonly force?: AbortSignal } = {}): Promise<void> {
    const stop = AbortSignal.any([signal, force].filter((each) => each !== undefined))
    if (force) void aborted(force).then(() => this.#executor.putAllBack(asError(force.reason)))
    this.#stop = stop
    let last: AnyClaimed<M, Row> | undefined
    let next: AnyClaimed<M, Row> | undefined
    let lastError: Error | undefined
    await this.#options.onStartup?.()
    try {
      const { idleMs, maxIdleTicks } = this.#options
      for (let idleSince = performance.now(); !stop.aborted; ) {
        try {
          const claim = next ?? (await this.#next(stop))
          next = undefined
          if (claim) {
            last = claim
            const end = await this.tick(claim)
            if (end.how === 'settled' || end.how === 'putBack') next = end.next as AnyClaimed<M, Row> | undefined
            lastError = end.how === 'failed' ? end.error : undefined
            idleSince = performance.now()
            continue
          }
        } catch (error) {
          lastError = asError(error)
          this.#tell(lastError)
          idleSince = performance.now() + idleMs
        }
        this.#options.supervised?.tell({ type: 'idle' })
        const leftMs = idleSince + idleMs * maxIdleTicks - performance.now()
        if (leftMs <= 0) break
        await this.#bell.wait(Math.min(idleMs, leftMs), stop)
      }
    } finally {
      const unbegun = next
      if (unbegun) await this.#call(() => this.#queue.release(unbegun))
      await this.#call(() => this.#options.onShutdown?.(last, lastError))
    }
  }

  /** The next row, if any; tries again when another claimant was faster. */
  async #next(stop: AbortSignal): Promise<AnyClaimed<M, Row> | undefined> {
    while (!stop.aborted) {
      const claiming = this.#options.mayClaim?.() === false ? undefined : this.getNext()
      this.#warmUp?.()
      this.#warmUp = undefined
      try {
        return await claiming
      } catch (error) {
        if (error instanceof QueueIsEmpty) return undefined
        if (!(error instanceof ObjectAlreadyClaimed)) throw error
      }
    }
    return undefined
  }

  /** How to claim the next row with the end of the current one: not outside of `run`, and not at its end. */
  #nextWithEnd(): ClaimOptions | undefined {
    const isLast = !this.#stop || this.#stop.aborted || this.#options.mayClaim?.() === false
    return isLast ? undefined : this.#claims.options()
  }

  get #leaseSeconds(): number {
    return this.#options.leaseSeconds ?? this.#queue.machine.leaseSeconds
  }

  async #call(hook: () => unknown): Promise<void> {
    try {
      await hook()
    } catch (error) {
      this.#report(asError(error))
    }
  }

  /** An error in the reporter must not stop the work. */
  #report(error: Error, claim?: AnyClaimed<M, Row>): void {
    try {
      this.#tell(error, claim)
    } catch {
      // There is nobody to report it to.
    }
  }

  #tell(error: Error, claim?: AnyClaimed<M, Row>): void {
    if (this.#options.onError) this.#options.onError(error, claim)
    else process.emitWarning(error)
  }
}
