import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { aborted, sleep } from '../../base/abort.ts'
import type { Settings } from '../../base/config.ts'
import { AppError, codeOf, EXIT, messageOf } from '../../base/errors.ts'
import type { Wait } from '../../db/embedded/not-yet.ts'
import { explainDatabaseError, isComingUp, maskPassword } from '../../db/trouble.ts'
import type { Call } from '../call.ts'
import type { OpenEvent } from './events.ts'

/**
 * How long commands wait for a database that starts, recovers or restarts, in seconds, when nobody said: `run`, and all
 * others.
 */
const RUN_SECONDS = 60
const SECONDS = 15

/** A long wait is told again so often. */
const TELL_MS = 60_000
const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 1_000
/** The same where only files of our own machine are looked at. */
const LONGEST_STEP_PAUSE_MS = 300

/** How long this command waits for its database, in milliseconds. */
export function databaseWaitMs({ config }: Settings, verb: 'run' | 'other' = 'other'): number {
  return 1000 * (config.WAIT_DB ?? (verb === 'run' ? RUN_SECONDS : SECONDS))
}

/** A database as a door leads to it. */
export interface Behind {
  readonly url: string
  /** One step to bring an embedded server back that was lost; nothing where it is there. */
  revive(): Promise<void>
}

/**
 * The way of a command to its database: waits for one that is on its way up, and tells so, within one budget for all
 * attempts until `passed`. The caller's signal ends the wait in order, as an AppError with 130. What it waits for
 * throws AppError in the end; other errors pass unchanged.
 */
export class Door {
  readonly #dataDir: string
  readonly #budgetMs: number
  readonly #tell: (event: OpenEvent) => void
  readonly #interrupted: AbortSignal
  /** When the first attempt that failed began. */
  #since: number | undefined
  #toldAt: number | undefined

  constructor(dataDir: string, budgetMs: number, { tell = () => {}, signal }: Call<OpenEvent>) {
    this.#dataDir = dataDir
    this.#budgetMs = budgetMs
    this.#tell = tell
    this.#interrupted = signal ?? new AbortController().signal
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
    return await this.#again(async () => {
      await revive()
      return await Promise.race([attempt(), aborted(this.#interrupted).then(() => Promise.reject(interruption()))])
    }, url)
  }

  /** The database is there; the next wait is another one. */
  passed(): void {
    if (this.#since !== undefined && this.#toldAt !== undefined)
      this.#tell({ event: 'database ready', seconds: Math.ceil((performance.now() - this.#since) / 1000) })
    this.#since = undefined
    this.#toldAt = undefined
  }

  async #again<T>(attempt: () => Promise<T>, url?: string): Promise<T> {
    const longest = url === undefined ? LONGEST_STEP_PAUSE_MS : LONGEST_PAUSE_MS
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, longest)) {
      const begun = performance.now()
      const result = await attempt().then(
        (value) => ({ value }),
        (error: unknown) => ({ error }),
      )
      await heard()
      if (!this.#interrupted.aborted) {
        if ('value' in result) return result.value
        await this.#pauseOrGiveUp(result.error, begun, pause, url)
      }
      if (this.#interrupted.aborted) throw interruption()
    }
  }

  async #pauseOrGiveUp(error: unknown, begun: number, pause: number, url: string | undefined): Promise<void> {
    if (!isComingUp(error)) throw error
    this.#since ??= begun
    const left = this.#since + this.#budgetMs - performance.now()
    if (left <= 0) throw this.#inVain(error, url)
    this.#tellWhy(messageOf(error))
    // With jitter: those who wait for one server must not all knock in the same moment.
    await sleep(Math.min(left, pause * (0.5 + Math.random())), this.#interrupted)
  }

  #tellWhy(why: string): void {
    const now = performance.now()
    if (this.#toldAt !== undefined && now - this.#toldAt < TELL_MS) return
    const minutes = this.#toldAt === undefined ? undefined : Math.round((now - (this.#since ?? now)) / TELL_MS)
    this.#tell({ event: 'waiting for database', why, budgetMs: this.#budgetMs, minutes })
    this.#toldAt = now
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

/** A signal that came while we were busy waits in the event loop until then. */
async function heard(): Promise<void> {
  await turn() // Of this round of the loop, which may have looked for signals before.
  await turn()
}
