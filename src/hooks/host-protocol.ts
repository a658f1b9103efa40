/**
 * Hooks in a row for the host to run: what a process of each would have got from its command line, environment and
 * descriptors.
 */
export interface HostJob {
  readonly url: string
  /** What all of them get; `EXTRA_CONTEXT` is each one's own. */
  readonly env: Readonly<Record<string, string>>
  readonly hooks: readonly HostedHook[]
}

export interface HostedHook {
  readonly path: string
  readonly outputDir: string
  readonly extraContext: string
  /** Is there when the hook has ended, as a whole. */
  readonly stdout: string
  readonly stderr: string
  readonly timeoutMs: number
}

/** To a host that runs hooks: no further one after the one that runs. */
export const STOP = 'stop'

/** How one hook ended. */
export interface HostedOutcome {
  /** The exit code that its process would have had. */
  readonly code: number
  /** Ms before the reply. */
  readonly began: number
  readonly ended: number
  /** What it printed, unless that is long: it lies in its file, too. */
  readonly stdout: string | undefined
  /** It said something on stderr. */
  readonly complained: boolean
}

/** The host's answer to a job: a hook that it was told not to begin any more has no outcome. */
export interface HostReply {
  readonly outcomes: readonly HostedOutcome[]
  /** How large the host has become. */
  readonly rssBytes: number
}
