import { join } from 'node:path'
import { aborted, sleep } from '../base/abort.ts'
import { AppError, codeOf, EXIT, messageOf } from '../base/errors.ts'
import type { Wait } from '../db/embedded/not-yet.ts'
import { explainDatabaseError, isComingUp, maskPassword } from '../db/trouble.ts'
import { Interrupts } from './interrupts.ts'
import type { GlobalOptions } from './options.ts'

/**
 * How long commands wait for a database that starts, recovers or restarts, in seconds, when nobody said: `run`, and all
 * others.
 */
const RUN_SECONDS = 60
const SECONDS = 15

/** A long wait is said again so often. */
const SAY_MS = 60_000
const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 1_000
/** The same where only files of our own machine are looked at. */
const LONGEST_STEP_PAUSE_MS = 300

/** How long this command waits for its database, in milliseconds. */
export function databaseWaitMs({ settings }: GlobalOptions, verb: 'run' | 'other' = 'other'): number {
  return 1000 * (settings.config.WAIT_DB ?? (verb === 'run' ? RUN_SECONDS : SECONDS))
}

/** A database as a door leads to it. */
export interface Behind {
  readonly url: string
  /** One step to bring an embedded server back that was lost; nothing where it is there. */
  revive(): Promise<void>
}

/**
 * The way of a command to its database: waits for one that is on its way up, and says so, within one budget for all
 * attempts until `passed`. A signal that comes meanwhile ends the command in order, with 130. What it waits for throws
 * AppError in the end; other errors pass unchanged.
 */
export class Door {
  readonly #dataDir: string
  readonly #budgetMs: number
  readonly #say: (line: string) => void
  /** When the first attempt that failed began. */
  #since: number | undefined
  #saidAt: number | undefined

  constructor(dataDir: string, budgetMs: number, say: (line: string) => void) {
    this.#dataDir = dataDir
    this.#budgetMs = budgetMs
    this.#say = say
  }

  /**
   * Repeats a step that brings the embedded server up until it succeeds. A signal waits for the end of the step: it may
   * hold a lock.
   */
  readonly through: Wait = async (attempt) => await this.#again(attempt)

  /**
   * Repeats work on a connection until it succeeds. A signal does not wait for it: the other side may be silent for
   * long.
   */
  async connect<T>({ url, revive }: Behind, attempt: () => Promise<T>): Promise<T> {
    return await this.#again(async (interrupted) => {
      await revive()
      return await Promise.race([attempt(), aborted(interrupted).then(() => Promise.reject(interruption()))])
    }, url)
  }

  /** The database is there; the next wait is another one. */
  passed(): void {
    if (this.#since !== undefined && this.#saidAt !== undefined)
      this.#say(`the database is ready after ${Math.ceil((performance.now() - this.#since) / 1000)} s`)
    this.#since = undefined
    this.#saidAt = undefined
  }

  async #again<T>(attempt: (interrupted: AbortSignal) => Promise<T>, url?: string): Promise<T> {
    const interrupts = new Interrupts()
    try {
      const longest = url === undefined ? LONGEST_STEP_PAUSE_MS : LONGEST_PAUSE_MS
      for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, longest)) {
        const begun = performance.now()
        const result = await attempt(interrupts.signal).then(
          (value) => ({ value }),
          (error: unknown) => ({ error }),
        )
        await interrupts.heard()
        if (!interrupts.signal.aborted) {
          if ('value' in result) return result.value
          await this.#pauseOrGiveUp(result.error, begun, pause, interrupts.signal, url)
        }
        if (interrupts.signal.aborted) throw interruption()
      }
    } finally {
      interrupts.end()
    }
  }

  async #pauseOrGiveUp(
    error: unknown,
    begun: number,
    pause: number,
    interrupted: AbortSignal,
    url: string | undefined,
  ): Promise<void> {
    if (!isComingUp(error)) throw error
    this.#since ??= begun
    const left = this.#since + this.#budgetMs - performance.now()
    if (left <= 0) throw this.#inVain(error, url)
    this.#tell(messageOf(error))
    // With jitter: those who wait for one server must not all knock in the same moment.
    await sleep(Math.min(left, pause * (0.5 + Math.random())), interrupted)
  }

  #tell(reason: string): void {
    const now = performance.now()
    if (this.#saidAt !== undefined && now - this.#saidAt < SAY_MS) return
    const minutes = Math.round((now - (this.#since ?? now)) / SAY_MS)
    const limit = `up to ${this.#budgetMs / 1000} s`
    if (this.#saidAt !== undefined) this.#say(`still waiting for the database, ${minutes} min by now: ${reason}`)
    else this.#say(`the database is not ready yet, waiting for it (${limit}): ${reason}`)
    this.#saidAt = now
  }

  /** What was waited for, for how long, and what to do. */
  #inVain(error: unknown, url: string | undefined): unknown {
    if (this.#budgetMs === 0 && url !== undefined) return explainDatabaseError(error, url)
    const where = url === undefined ? `in ${join(this.#dataDir, 'postgres')}` : `at ${maskPassword(url)}`
    const waited =
      this.#budgetMs === 0
        ? `the database ${where} is not ready`
        : `waited ${this.#budgetMs / 1000} s for the database ${where}`
    const log = url === undefined ? join(this.#dataDir, 'logs', 'postgres.log') : 'its log'
    const hints = [
      codeOf(error) === '57P03' ? `${log} says how far it is` : 'is the server up, and is DATABASE_URL right?',
    ]
    hints.push('--wait-db SECONDS waits longer')
    if (/already exists/.test(messageOf(error)))
      hints.push('in a container use --init, which clears away dead processes')
    return new AppError(`${waited}: ${messageOf(error)}`, { hint: hints.join('; '), cause: error })
  }
}

function interruption(): AppError {
  return new AppError('interrupted while waiting for the database', { exitCode: EXIT.interrupted })
}
