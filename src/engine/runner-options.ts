import type { Summary } from './counts.ts'
import type { OnError } from './executor.ts'
import type { ModelOptions } from './producer.ts'
import type { Sql } from './sql.ts'
import type { WatchdogOptions } from './watchdog.ts'

export interface RunnerOptions {
  /** A pool: claims, outcomes, renewals and housekeeping go side by side. */
  readonly sql: Sql
  readonly models: readonly ModelOptions[]
  /** Handlers at work at once, over all models. */
  readonly concurrency?: number
  /** Names of graphs that this runner leaves alone. */
  readonly exclude?: readonly string[]
  /** Who claims, for tables with an owner column: a UUID that nobody else uses. */
  readonly owner?: string
  /** Who moves rows, for the history (a UUID). */
  readonly by?: string
  /** How long one handler run may take, where its state does not say. */
  readonly deadlineMs?: number
  /** Calls back when there may be new work (NOTIFY). The runner looks by itself, too, so news may be lost. */
  readonly listen?: (onNews: () => void) => { close(): unknown } | Promise<{ close(): unknown }>
  /** How often rows are moved along their timeouts, and deleted. */
  readonly timeoutsEveryMs?: number
  readonly deletionsEveryMs?: number
  /** Ends the process when the loop misses its schedule; false: never. */
  readonly watchdog?: WatchdogOptions | false
  /** A file that is written at least every 30 seconds while the loop is alive. */
  readonly livenessFile?: string
  readonly summaryEveryMs?: number
  readonly onSummary?: (summary: Summary) => void
  readonly onError?: OnError
  /** What handlers find as `context.log`. */
  readonly log?: (line: string) => void
}

export interface RunOptions {
  /** Drains when it aborts: claims nothing more, lets handlers end, writes their outcomes, returns. */
  readonly signal?: AbortSignal
  /** Stops handlers when it aborts, and gives their rows back without blame. */
  readonly force?: AbortSignal
  /** Drains by itself after so long. */
  readonly runForMs?: number
}

// django-stator's numbers.
export const DEFAULTS = {
  concurrency: 10,
  deadlineMs: 15_000,
  timeoutsEveryMs: 10_000,
  deletionsEveryMs: 30_000,
  summaryEveryMs: 60_000,
  watchdog: { afterMs: 60_000 },
} as const
