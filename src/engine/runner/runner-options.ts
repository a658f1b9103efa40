import type { OnError } from '../executor-options.ts'
import type { Sql } from '../sql.ts'
import type { WatchdogOptions } from '../watchdog.ts'
import type { ModelOptions } from './producer.ts'
import type { Summary } from './tally.ts'

export interface RunnerOptions {
  /** A pool: claims, outcomes, renewals and housekeeping run in parallel. */
  readonly sql: Sql
  readonly models: readonly ModelOptions[]
  /** Concurrent handlers over all models. */
  readonly concurrency?: number
  /** Names of graphs that this runner ignores. */
  readonly exclude?: readonly string[]
  /** The owner of claims, for tables with an owner column: a UUID of its own. */
  readonly owner?: string
  /** Who moves rows, for the history (a UUID). */
  readonly by?: string
  /** How long one handler run may take, unless its state says otherwise. */
  readonly deadlineMs?: number
  /** Calls back when there may be new work (NOTIFY). The runner also polls, so notifications may be lost. */
  readonly listen?: (onNews: () => void) => { close(): unknown } | Promise<{ close(): unknown }>
  /** How often timeouts and deletions are done. */
  readonly timeoutsEveryMs?: number
  readonly deletionsEveryMs?: number
  /** Ends the process when the loop misses its schedule; false: never. */
  readonly watchdog?: WatchdogOptions | false
  /** A file that is written at least every 30 seconds while the loop is alive. */
  readonly livenessFile?: string
  readonly summaryEveryMs?: number
  readonly onSummary?: (summary: Summary) => void
  readonly onError?: OnError
  /** Passed to handlers as `context.log`. */
  readonly log?: (line: string) => void
}

export interface RunOptions {
  /** Drains when it aborts: claims nothing more, lets handlers end, writes their outcomes, returns. */
  readonly signal?: AbortSignal
  /** Stops handlers when it aborts, and releases their rows without counting the attempt. */
  readonly force?: AbortSignal
  /** Drains by itself after this time. */
  readonly runForMs?: number
}

// django-stator's defaults.
export const DEFAULTS = {
  concurrency: 10,
  deadlineMs: 15_000,
  timeoutsEveryMs: 10_000,
  deletionsEveryMs: 30_000,
  summaryEveryMs: 60_000,
  watchdog: { afterMs: 60_000 },
} as const
