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
 * How long commands wait by default for a database that starts, recovers or restarts, in seconds: `run`, and all
 * others.
 */
const RUN_SECONDS = 60
const SECONDS = 15

/** How often a long wait is reported again. */
const TELL_MS = 60_000
const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 1_000
/** The same where only files of our own machine are read. */
const LONGEST_STEP_PAUSE_MS = 300

/** How long this command waits for its database, in milliseconds. */
export function databaseWaitMs({ config }: Settings, verb: 'run' | 'other' = 'other'): number {
  return 1000 * (config.WAIT_DB ?? (verb === 'run' ? RUN_SECONDS : SECONDS))
}

/** A database that this wait leads to. */
export interface Behind {
  readonly url: string
  /** One step to bring back an embedded server that was lost; does nothing when it is there. */
  revive(): Promise<void>
}

/**
 * A command's wait for its database: waits for one that is starting, and reports that, within one budget for all
 * attempts until `passed`. The caller's signal ends the wait, as an AppError with 130. An error that was waited for
 * becomes an AppError in the end; other errors pass unchanged.
 */
export class Door {
  readonly #dataDir: string
  readonly #budgetMs: number
  readonly #tell: (event: OpenEvent) => void
  readonly #interrupted: AbortSignal
  /** When the first failed attempt began. */
  #since: number | undefined
  #toldAt: number | undefined

  constructor(dataDir: string, budgetMs: number, { tell = () => {}, signal }: Call<OpenEvent>) {
    this.#dataDir = dataDir
    this.#budgetMs = budgetMs
    this.#tell = tell
    this.#interrupted = signal ?? new AbortController().signal
  }

  /**
   * Repeats a step that brings the embedded server up until it succeeds. A signal waits for the step to end: it may
   * hold a lock.
   */
  readonly through: Wait = async (attempt) => await this.#again(attempt)

  /**
   * Repeats work on a connection until it succeeds. A signal does not wait for it: the other side may be silent for
   * a long time.
   */
  async connect<T>({ url, revive }: Behind, attempt: () => Promise<T>): Promise<T> {
    return await this.#again(async () => {
      await revive()
      return await Promise.race([attempt(), aborted(this.#interrupted).then(() => Promise.reject(interruption()))])
    }, url)
  }

  /** The database is there; the next wait is a new one. */
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
    // With jitter, so that those who wait for one server do not all try in the same moment.
    await sleep(Math.min(left, pause * (0.5 + Math.random())), this.#interrupted)
  }

  #tellWhy(why: string): void {
    const now = performance.now()
    if (this.#toldAt !== undefined && now - this.#toldAt < TELL_MS) return
    const minutes = this.#toldAt === undefined ? undefined : Math.round((now - (this.#since ?? now)) / TELL_MS)
    this.#tell({ event: 'waiting for database', why, budgetMs: this.#budgetMs, minutes })
    this.#toldAt = now
  }

  /** The error after a wait in vain: what for, how long, and what to do. */
  #inVain(error: unknown, url: string | undefined): unknown {
    if (this.#budgetMs === 0 && url !== undefined) return explainDatabaseError(error, url)
    const where = url === undefined ? `in ${join(this.#dataDir, 'postgres')}` : `at ${maskPassword(url)}`
    const waited =
      this.#budgetMs === 0
        ? `the database ${where} is not ready`
        : `waited ${this.#budgetMs / 1000} s for the database ${where}`
    const log = url === undefined ? join(this.#dataDir, 'logs', 'postgres.log') : 'its log'
    const hints = [
      codeOf(error) === '57P03' ? `${log} shows its progress` : 'is the server up, and is DATABASE_URL right?',
    ]
    hints.push('--wait-db SECONDS waits longer')
    if (/already exists/.test(messageOf(error))) hints.push('in a container use --init, which reaps dead processes')
    return new AppError(`${waited}: ${messageOf(error)}`, { hint: hints.join('; '), cause: error })
  }
}

function interruption(): AppError {
  return new AppError('interrupted while waiting for the database', { exitCode: EXIT.interrupted })
}

/** Lets the event loop deliver a signal that came while we were busy. */
async function heard(): Promise<void> {
  await turn() // Ends this round of the loop, which may have checked for signals before.
  await turn()
}
