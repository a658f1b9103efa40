import type { Texts } from '../base/config.ts'
import type { Earlier } from './http/answer.ts'
import type { Visit } from './visit.ts'

/** Who asks for a page, and how. */
export interface RequestContext {
  readonly url: string
  readonly env: Texts
  readonly signal: AbortSignal
  /** A folder of whoever asks, for a long body; in a visit, that lies beside it. */
  readonly outputDir?: string | undefined
  /** Shared with others; undefined: this one asks alone. */
  readonly visit?: Visit | undefined
  /** An earlier copy of the page, which need not be sent again; undefined: there is none. */
  earlier?(): Earlier | undefined
  /** Reports the HTTP status of the page itself, and the seconds after which a server that is too busy may be asked. */
  answered?(httpStatus: number, retryAfter?: number): void
  /** Others have waited so long, in milliseconds, for what this one now waits for: it has so much less time. */
  spend?(ms: number): void
  /** What must be done when nobody needs it any more: at the end of the visit, or of whoever asks alone. */
  onEnd?(closer: () => Promise<void>): void
}
