import type { Visit } from './visit.ts'

/**
 * What a hook gets to work with; nothing else of the process belongs to it, because a warm host runs hook after hook.
 */
export interface HookContext {
  readonly url: string
  /**
   * Absolute, exists, and is the plugin's own. Outputs of the other plugins lie beside it:
   * `join(outputDir, '..', '<plugin>')`.
   */
  readonly outputDir: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** Aborts at the hook's deadline, or when somebody wants it to stop. */
  readonly signal: AbortSignal
  /** With whom it runs in a row; undefined: alone. */
  readonly visit?: Visit | undefined
  /** One JSONL record on stdout (Snapshot, Tag). Whoever runs the hook stamps EXTRA_CONTEXT on it: see records.ts. */
  emit(record: object): void
  /** One line on stderr, for people. */
  log(line: string): void
  /** Told what the server answered with, when the page itself was asked for: it becomes part of the result. */
  answered?(httpStatus: number): void
}

export interface HookResult {
  readonly status: 'succeeded' | 'noresults' | 'skipped' | 'failed'
  /** `output_str`: the main file as a path relative to SNAP_DIR, or one short line that says what happened. */
  readonly output: string
  /** `output_json`, when the plugin has one. */
  readonly json?: unknown
}

export interface HookModule {
  /**
   * Runs the hook once. Never throws and keeps nothing for the next run: every trouble is a `failed` result with a
   * one-line reason.
   */
  run(context: HookContext): Promise<HookResult>
}
