import { sql } from 'kysely'
import { messageOf } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { markEnded } from '../db/processes.ts'
import { withRetry } from '../db/retry.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import { actorsToSpawn } from '../engine/spawn-policy.ts'
import type { FromWorker } from './messages.ts'
import { reapWorker } from './reap.ts'
import { retryTransient } from './retry-transient.ts'
import { SlotAllocator } from './slot-allocator.ts'
import { recordWorker, send, startWorker, type WorkerChild, type WorkerOptions } from './worker-child.ts'
import type { WorkerContext } from './worker-context.ts'

/** A worker that was told to stop at once and is there so much later does not listen. */
const DEAF_MS = 3_000
/** So long after the end of its lease a worker is not late but stuck. */
const STUCK_SECONDS = 15
/** A worker says every few seconds that it is there. One that was started, or woken, and says nothing for so long stands still. */
const MUTE_MS = 30_000
/** One that has nothing to do leaves within moments when it is asked to. */
const LEAVE_MS = 10_000
/** Between two rounds that are further apart the pool was not asked: the database was away, and nobody could have answered. */
const LONGEST_GAP_MS = 10_000
/** How often those who are to leave are looked after. */
const CLOSING_MS = 2_000
/** So many in a row are no accident. */
const MANY_CRASHES = 3
/** What a worker died of at work has its attempts counted, and other work need not wait for it. One that comes to no work at all is broken. */
const LONGEST_PAUSE_MS = { atWork: 1_000, idle: 10_000 } as const

/**
 * The worker processes of one kind below one supervisor: started as the queue asks for them, woken, drained, and reaped.
 * A worker that dies has its tree killed and its claims made due again before anybody else may take them.
 */
export class WorkerPool {
  readonly #context: WorkerContext
  readonly #kind: WorkerOptions['kind']
  #size: number
  readonly #cwd: string
  readonly #allocator: SlotAllocator<WorkerChild> | undefined
  readonly #workers = new Set<WorkerChild>()
  /** Gone, but not yet reaped. */
  readonly #dying = new Set<WorkerChild>()
  #small: (() => void) | undefined
  #crashes = 0
  #notBefore = 0
  #lookedAt = performance.now()
  /** How often a worker said that something was finished. */
  changes = 0
  /** Was any worker ever started? */
  used = false

  /** @param options.slots how many workers ours may have together, if that is bounded */
  constructor(
    context: WorkerContext,
    options: { kind: WorkerOptions['kind']; size: number; cwd: string; slots?: number | undefined },
  ) {
    this.#context = context
    this.#kind = options.kind
    this.#size = options.size
    this.#cwd = options.cwd
    this.#allocator = options.slots === undefined ? undefined : new SlotAllocator(options.slots)
  }

  /** Workers that are there, or not yet reaped. */
  get size(): number {
    return this.#workers.size + this.#dying.size
  }

  get busy(): number {
    return [...this.#workers].filter((worker) => worker.state !== 'idle').length + this.#dying.size
  }

  /** What keeps it from working: its workers die again and again. */
  get trouble(): string | undefined {
    if (this.#crashes < MANY_CRASHES) return undefined
    return `${this.#crashes} ${this.#kind} workers in a row died before they finished anything: logs/runner.log says why`
  }

  /** One round of the spawn policy for `due` waiting rows: wake the idle, start what is missing, at most one or two at a time. */
  async fill(due: number): Promise<void> {
    if (due === 0) return
    const idle = [...this.#workers].filter((worker) => worker.state === 'idle')
    const starting = [...this.#workers].filter((worker) => worker.state === 'starting')
    for (const worker of idle) {
      worker.askedAt ??= performance.now()
      send(worker, { type: 'wake' })
    }
    const missing = Math.min(due - idle.length - starting.length, actorsToSpawn(due, this.size, this.#size))
    if (performance.now() < this.#notBefore) return
    for (let started = 0; started < missing; started += 1) await this.#start()
  }

  /** From now on at most so many workers: those beyond leave when what they run has ended. `small` is called when they have. */
  resize(size: number, small: () => void): void {
    this.#size = size
    this.#small = small
    const idleFirst = [...this.#workers].sort((a, b) => Number(b.state === 'idle') - Number(a.state === 'idle'))
    for (const worker of idleFirst.slice(0, Math.max(0, this.size - size)))
      send(worker, { type: 'drain', capMs: null, isExplained: true })
    this.#sayWhenSmall()
  }

  /** Asks every worker to leave when what it runs has ended. */
  drain(capMs: number): void {
    const { isExplained } = this.#context.stop
    const order = { type: 'drain', capMs: Number.isFinite(capMs) ? capMs : null, isExplained } as const
    for (const worker of this.#workers) send(worker, order)
  }

  force(): void {
    const { isExplained } = this.#context.stop
    for (const worker of this.#workers) send(worker, { type: 'force', isExplained })
  }

  /** Has every worker see at once whether its claim still holds. */
  recheck(): void {
    for (const worker of this.#workers) send(worker, { type: 'recheck' })
  }

  /** Drains, and waits until all are gone and reaped; `force` of the context's stop cuts it short. */
  async close(): Promise<void> {
    const { stop } = this.#context
    this.drain(stop.capMs)
    for (const worker of this.#workers) if (worker.state === 'idle') worker.askedAt ??= performance.now()
    await failpoint('shutdown.workers_asked')
    let killTimer: NodeJS.Timeout | undefined
    const onForce = () => {
      this.force()
      killTimer = setTimeout(() => this.#kill([...this.#workers]), DEAF_MS)
    }
    stop.force.addEventListener('abort', onForce)
    if (stop.force.aborted) onForce()
    for (let lookAt = performance.now() + CLOSING_MS, over = 0; this.size > 0; ) {
      // A worker can be asked again at no cost: one that was only just starting missed the first time.
      this.drain(stop.capMs)
      await this.#context.bell.wait(200)
      if (performance.now() < lookAt) continue
      lookAt = performance.now() + CLOSING_MS
      // Whoever waits for us must not wait for one that stands still: its time was over, and it had as much again.
      over = stop.capMs === 0 ? over + CLOSING_MS : 0
      if (over > DEAF_MS) this.#kill([...this.#workers])
      this.#killMute(LEAVE_MS)
      await this.#killLate().catch((error: unknown) => this.#context.log.debug(messageOf(error)))
    }
    clearTimeout(killTimer)
    stop.force.removeEventListener('abort', onForce)
  }

  /** Kills workers that are there and do nothing: stopped, or stuck where no order reaches them. Reaping makes their work due. */
  async killStuck(): Promise<void> {
    this.#killMute(MUTE_MS)
    await this.#killLate()
  }

  /** Those that do not answer: they would count as somebody who will take what is due. */
  #killMute(patienceMs: number): void {
    const now = performance.now()
    const wasAway = now - this.#lookedAt > LONGEST_GAP_MS
    this.#lookedAt = now
    for (const worker of this.#workers) if (wasAway && worker.askedAt !== undefined) worker.askedAt = now
    const mute = [...this.#workers].filter(({ askedAt }) => askedAt !== undefined && now - askedAt > patienceMs)
    for (const { child } of mute)
      this.#context.log.warn(`${this.#kind} worker ${child.pid ?? ''} does not answer: killing it`)
    this.#kill(mute)
  }

  /** Those that let the lease of what they hold run out. */
  async #killLate(): Promise<void> {
    const busy = [...this.#workers].filter((worker) => worker.state === 'busy')
    if (busy.length === 0) return
    const select = sql<{ id: string; late: boolean }>`
      select claimed_by as id, retry_at < now() - make_interval(secs => ${STUCK_SECONDS}) as late from ${sql.table(this.#kind)}
      where claimed_by = any(${busy.map(({ processId }) => processId)}::uuid[])`
    const { db } = this.#context.owner.home
    const { rows } = await withRetry(db, () => select.execute(db))
    for (const worker of busy) {
      // At work without a claim it has just ended, or lost, one: it says so within moments, unless it stands still.
      if (rows.some(({ id }) => id === worker.processId)) worker.askedAt = undefined
      else worker.askedAt ??= performance.now()
    }
    const stuck = busy.filter(({ processId }) => rows.some(({ id, late }) => late && id === processId))
    for (const { child } of stuck)
      this.#context.log.warn(`${this.#kind} worker ${child.pid ?? ''} does not renew its lease: killing it`)
    this.#kill(stuck)
  }

  #sayWhenSmall(): void {
    if (this.#small === undefined || this.size > this.#size) return
    this.#small()
    this.#small = undefined
  }

  /** Gives those that have work their share of the slots; to the others nothing. A dead one keeps its share until it is reaped. */
  #divide(): void {
    const atWork = [...this.#workers, ...this.#dying].filter((worker) => worker.state !== 'idle')
    for (const [worker, count] of this.#allocator?.divide(atWork) ?? []) send(worker, { type: 'slots', count })
  }

  #kill(workers: readonly WorkerChild[]): void {
    for (const { child } of workers) child.kill('SIGKILL')
  }

  async #start(): Promise<void> {
    this.used = true
    const worker = await startWorker(this.#context, {
      kind: this.#kind,
      cwd: this.#cwd,
      sharesSlots: this.#allocator !== undefined,
    })
    if (!worker) return this.#backOff(LONGEST_PAUSE_MS.idle)
    this.#workers.add(worker)
    this.#divide()
    worker.child.on('message', (message: FromWorker) => this.#hear(worker, message))
    worker.child.once('exit', (code, signal) => this.#reap(worker, { code, signal }))
    await recordWorker(this.#context, worker)
  }

  /** After a crash, and when none could be started: later, less often each time. */
  #backOff(longestMs: number): void {
    this.#crashes += 1
    const pauseMs = Math.min(2 ** this.#crashes * 50, longestMs)
    this.#notBefore = performance.now() + pauseMs
    setTimeout(() => this.#context.bell.wake(), pauseMs).unref()
  }

  #hear(worker: WorkerChild, message: FromWorker): void {
    const { log, bell } = this.#context
    worker.askedAt = undefined
    if (message.type === 'here') return
    if (message.type === 'log') log.relay(message.line)
    else if (message.type === 'slots released') {
      this.#allocator?.released(worker, message.count)
      this.#divide()
    } else {
      if (message.type === 'progress') {
        this.changes += 1
        this.#crashes = 0
      } else {
        worker.state = message.type
        // What it has left holds no claim: it is nobody's share, until there is work again.
        if (this.#allocator && message.type === 'idle') send(worker, { type: 'slots', count: 0 })
        this.#divide()
      }
      bell.wake()
    }
  }

  #reap(worker: WorkerChild, exit: { code: number | null; signal: string | null }): void {
    const { owner, log, bell, stop } = this.#context
    this.#workers.delete(worker)
    this.#dying.add(worker)
    const clean = exit.code === 0
    const work = (async () => {
      if (clean) {
        await retryTransient(() => markEnded(owner.home.db, worker.processId, exit), stop.force)
        await failpoint('shutdown.worker_row_closed')
        return
      }
      this.#backOff(worker.state === 'busy' ? LONGEST_PAUSE_MS.atWork : LONGEST_PAUSE_MS.idle)
      const requeued = await retryTransient(() => reapWorker(owner.home, worker.processId, exit), stop.force)
      log.warn(
        `${this.#kind} worker ${worker.child.pid ?? ''} died (${exit.signal ?? `exit code ${exit.code}`}): ${requeued} claims are due again`,
      )
    })()
    void work
      .catch((error: unknown) => {
        const text = `cannot close the row of ${this.#kind} worker ${worker.child.pid ?? ''}: ${messageOf(error)}`
        // The next promotion closes it, and makes due again what it had claimed.
        if (isDatabaseAway(error)) log.debug(text)
        else log.error(text)
      })
      .finally(() => {
        this.#dying.delete(worker)
        this.#divide()
        this.#sayWhenSmall()
        bell.wake()
      })
  }
}
