import type { Bell } from '../base/abort.ts'
import { AppError, codeOf } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import type { Log } from '../base/log.ts'
import type { Stop } from '../base/stop.ts'
import type { Home } from '../db/home.ts'
import { isCollision } from '../db/trouble.ts'
import { DataDirLock } from './data-dir-lock.ts'
import { endOlder } from './end-older.ts'
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
  /** How long an older runner may take to drain before its tree is killed. */
  readonly handoffGraceMs: number
  /** Called when older runners were asked to leave: for what can be done while they do. */
  readonly meanwhile: () => void
}

export type Passed =
  | { readonly term: Term; readonly lock: DataDirLock; readonly why?: undefined }
  | { readonly term?: undefined; readonly why: 'superseded' | 'drained' | 'forced' }

/**
 * The single-runner gate. The newest runner wins, by the database's order of registrations; it is promoted only when the operating system
 * says that every older one is gone, nobody holds the data dir, and everything that carried the older ones' marks is killed.
 */
export class Gate {
  readonly #options: GateOptions
  readonly #me: Registered
  readonly #stop: Stop
  readonly #bell: Bell
  readonly #lock: DataDirLock
  #lockedSince: number | undefined

  constructor(options: GateOptions, me: Registered, stop: Stop, bell: Bell) {
    this.#options = options
    this.#me = me
    this.#stop = stop
    this.#bell = bell
    this.#lock = new DataDirLock(options.home)
  }

  /** Throws AppError when an older runner cannot be ended, or somebody unknown holds the data dir: then there is no promotion. */
  async pass(): Promise<Passed> {
    try {
      for (;;) {
        const passed = await this.#attempt().catch((error: unknown) => this.#outlive(error))
        if (passed?.term) return passed
        if (passed) break
      }
    } catch (error) {
      this.#lock.release()
      throw error
    }
    this.#lock.release()
    if (!this.#stop.drain.aborted) return { why: 'superseded' }
    return { why: this.#stop.force.aborted ? 'forced' : 'drained' }
  }

  /** One way through. `left`: we are not to lead; undefined: the world changed, look again. */
  async #attempt(): Promise<Extract<Passed, { term: Term }> | { term?: undefined } | undefined> {
    const { home, log } = this.#options
    if (this.#stop.drain.aborted) return {}
    const others = (await liveRunnerProcesses(home)).filter(({ id }) => id !== this.#me.id)
    await failpoint('gate.looked')
    const newer = others.findLast((row) => row.seq > this.#me.seq)
    if (newer) {
      log.info(`a newer runner (pid ${newer.pid}) is taking over`)
      return {}
    }
    if (others.length > 0) {
      const meanwhile = () => {
        this.#lock.lineUp()
        this.#options.meanwhile()
      }
      if (!(await endOlder({ ...this.#options, meanwhile }, this.#me, others, this.#stop, this.#bell))) return undefined
      await failpoint('gate.older_gone')
    }
    if (!(await this.#takeDataDir())) return undefined
    await failpoint('gate.locked')
    await sweep(home, log, this.#me)
    await failpoint('gate.swept')
    const term = await promote(home, this.#me)
    await failpoint('gate.promoted')
    log.info(`leading (term ${term.number}${term.requeued > 0 ? `, ${term.requeued} unfinished claims taken over` : ''})`)
    return { term, lock: this.#lock }
  }

  /** Looks again soon after what may pass: the index had the last word, or a lock did not come in time. */
  async #outlive(error: unknown): Promise<undefined> {
    if (!isCollision(error) && codeOf(error) !== UNIQUE_VIOLATION) throw error
    await this.#bell.wait(RETRY_MS, this.#stop.drain)
  }

  /** False: held, look again. Throws AppError when somebody whom the database does not know keeps it. */
  async #takeDataDir(): Promise<boolean> {
    if (await this.#lock.take()) return true
    this.#lockedSince ??= performance.now()
    if (performance.now() - this.#lockedSince > LOCKED_MS) {
      throw new AppError(`the data dir is held by a runner that this database does not show as alive: ${this.#lock.holder()}`, {
        hint: 'it hangs in another container, or uses another database: stop it there; nothing was taken over',
      })
    }
    await this.#bell.wait(LOCK_LOOK_MS, this.#stop.drain)
    return false
  }
}
