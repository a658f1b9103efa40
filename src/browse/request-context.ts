import type { Texts } from '../base/config.ts'
import type { Earlier } from './http/answer.ts'
import type { Visit } from './visit.ts'

/** The caller that requests a page, and its settings. */
export interface RequestContext {
  readonly url: string
  readonly env: Texts
  readonly signal: AbortSignal
  /** A folder of the caller, for a long body; in a visit, the body is stored beside it. */
  readonly outputDir?: string | undefined
  /** Shared with others; undefined: the caller has no visit. */
  readonly visit?: Visit | undefined
  /** An earlier copy of the page, which the server need not send again; undefined: there is none. */
  earlier?(): Earlier | undefined
  /** Reports the HTTP status of the page itself, and the seconds after which a busy server may be asked again. */
  answered?(httpStatus: number, retryAfter?: number): void
  /**
   * Reports that others have already waited so many milliseconds for what this caller now waits for: its own time is
   * reduced by that.
   */
  spend?(ms: number): void
  /** Registers a cleanup for the end of the visit, or of a caller without one. */
  onEnd?(closer: () => Promise<void>): void
}
