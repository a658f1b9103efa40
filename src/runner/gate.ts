import type { Bell } from '../base/abort.ts'
import { AppError, codeOf } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import type { Log } from '../base/log.ts'
import type { Stop } from '../base/stop.ts'
import type { Home } from '../db/home.ts'
import { isCollision } from '../db/trouble.ts'
import { DataDirLock } from './data-dir-lock.ts'
import { evictOlderRunners } from './evict-older.ts'
import { liveRunnerProcesses } from './ownership.ts'
import { promote, type Term } from './promote.ts'
import type { Registered } from './registration.ts'
import { sweep } from './sweep.ts'

/** How long the data dir may stay locked when every runner that we know of is gone. */
const LOCKED_MS = 15_000
const LOCK_LOOK_MS = 50
const RETRY_MS = 20
const UNIQUE_VIOLATION = '23505'

export interface GateOptions {
  readonly home: Home
  readonly log: Log
  readonly stop: Stop
  readonly bell: Bell
  /** Called with whom we wait for. */
  readonly waitsFor: (reason: string | null) => void
  /** How long an older runner may take to drain before its tree is killed. */
  readonly handoffGraceMs: number
  /** Called when older runners were asked to leave: for what can be done while they do. */
  readonly onWaiting: () => void
}

export type Passed =
  | { readonly term: Term; readonly lock: DataDirLock; readonly why?: undefined }
  | { readonly term?: undefined; readonly why: 'superseded' | 'drained' | 'forced' | 'lost' }
  /** Somebody whom the database does not know keeps the data dir: there is no promotion. */
  | { readonly term?: undefined; readonly why: 'held'; readonly error: AppError }

/**
 * The single-runner gate. The newest runner wins, by the database's order of registrations; it is promoted only when the operating system
 * says that every older one is gone, nobody holds the data dir, and everything that carried the older ones' marks is killed.
 */
export class Gate {
  readonly #options: GateOptions
  readonly #me: Registered
  readonly #lock: DataDirLock
  #lockedSince: number | undefined

  constructor(options: GateOptions, me: Registered) {
    this.#options = options
    this.#me = me
    this.#lock = new DataDirLock(options.home)
  }

  /** Throws AppError when an older runner cannot be ended: then there is no promotion. */
  async pass(): Promise<Passed> {
    let passed: Passed | undefined
    try {
      while (!passed) passed = await this.#attempt().catch((error: unknown) => this.#outlive(error))
      return passed
    } finally {
      if (!passed?.term) this.#lock.release()
    }
  }

  /** One way through; undefined: the world changed, look again. */
  async #attempt(): Promise<Passed | undefined> {
    const { home, log, stop } = this.#options
    if (stop.drain.aborted) return { why: stop.force.aborted ? 'forced' : 'drained' }
    const others = (await liveRunnerProcesses(home)).filter(({ id }) => id !== this.#me.id)
    await failpoint('gate.looked')
    const newer = others.findLast((row) => row.seq > this.#me.seq)
    if (newer) {
      log.info(`a newer runner (pid ${newer.pid}) is taking over`)
      return { why: 'superseded' }
    }
    if (others.length > 0) {
      const onWaiting = () => {
        this.#lock.enqueue()
        this.#options.onWaiting()
      }
      if (!(await evictOlderRunners({ ...this.#options, onWaiting }, this.#me, others))) return undefined
      await failpoint('gate.older_gone')
    }
    const held = await this.#takeDataDir()
    if (held !== 'ours') return held
    await failpoint('gate.locked')
    if (!(await sweep(home, log, this.#me))) return undefined
    await failpoint('gate.swept')
    const term = await promote(home, this.#me)
    if (!term) return { why: 'lost' }
    await failpoint('gate.promoted')
    log.info(
      `leading (term ${term.number}${term.requeued > 0 ? `, ${term.requeued} unfinished claims taken over` : ''})`,
    )
    return { term, lock: this.#lock }
  }

  /** Looks again soon after what may pass: the index had the last word, or a lock did not come in time. */
  async #outlive(error: unknown): Promise<undefined> {
    if (!isCollision(error) && codeOf(error) !== UNIQUE_VIOLATION) throw error
    await this.#options.bell.wait(RETRY_MS, this.#options.stop.drain)
  }

  /** The data dir's lock, and with it the last word on who is there; undefined: held, look again. */
  async #takeDataDir(): Promise<'ours' | Passed | undefined> {
    const { bell, stop, waitsFor } = this.#options
    if (await this.#lock.take()) return 'ours'
    this.#lockedSince ??= performance.now()
    waitsFor(`waiting for the data dir, which is held by ${this.#lock.holder()}`)
    if (performance.now() - this.#lockedSince > LOCKED_MS) {
      const message = `the data dir is held by a runner that this database does not show as alive: ${this.#lock.holder()}`
      const hint = 'it hangs in another container, or uses another database: stop it there; nothing was taken over'
      return { why: 'held', error: new AppError(message, { hint }) }
    }
    await bell.wait(LOCK_LOOK_MS, stop.drain)
    return undefined
  }
}
