import type { RequestContext } from '../browse/request-context.ts'

/** What a hook works with; it may use nothing else of the process, because a warm host runs one hook after another. */
export interface HookContext extends RequestContext {
  /**
   * Absolute, and belongs to the plugin. Outputs of other plugins lie beside it: `join(outputDir, '..', '<plugin>')`.
   * In a row of hooks it is made by what first writes into it, such as `writeWhole`: most hooks write nothing on most
   * pages.
   */
  readonly outputDir: string
  /** Aborts at the hook's deadline, or when it is told to stop. */
  readonly signal: AbortSignal
  /** Prints one JSONL record on stdout (Snapshot, Tag), stamped with EXTRA_CONTEXT: see records.ts. */
  emit(record: object): void
  /** One line on stderr, for people. */
  log(line: string): void
}

export interface HookResult {
  /** `backoff`: failed for now, to be tried again later. */
  readonly status: 'succeeded' | 'noresults' | 'skipped' | 'failed' | 'backoff'
  /** `output_str`: the main file as a path relative to SNAP_DIR, or one short line that says what happened. */
  readonly output: string
  /** `output_json`, when the plugin has one. */
  readonly json?: unknown
}

export interface HookModule {
  /**
   * Runs the hook once. Never throws and keeps nothing for the next run: every problem is a `failed` result with a
   * one-line reason.
   */
  run(context: HookContext): Promise<HookResult>
}
