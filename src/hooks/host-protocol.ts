/**
 * Hooks for the host, one after another, with what their own processes would have got as command line, environment and
 * descriptors.
 */
export interface HostJob {
  readonly url: string
  /** Shared by all of them. */
  readonly env: Readonly<Record<string, string>>
  /** The file that each of them appends its output to, when it has ended. */
  readonly log: string
  readonly hooks: readonly HostedHook[]
}

export interface HostedHook {
  readonly path: string
  readonly outputDir: string
  /** Flush its files to disk. */
  readonly flush: boolean
  /** Its own part of the environment. */
  readonly env: Readonly<Record<string, string>>
  /** In the log. */
  readonly name: string
  readonly timeoutMs: number
}

/** Tells a running host to start no further hook. */
export const STOP = 'stop'

/** How one hook ended. */
export interface HostedOutcome {
  /** The exit code that its process would have had. */
  readonly code: number
  /** Milliseconds before the reply. */
  readonly began: number
  readonly ended: number
  /** Its output, unless that is long; the log has it, too. */
  readonly stdout: string | undefined
  /** It said something on stderr: the log has it. */
  readonly complained: boolean
  /** Its files are on disk. */
  readonly isFlushed: boolean
}

/** The host's answer to a job. A hook that was not started because of STOP has no outcome. */
export interface HostReply {
  readonly outcomes: readonly HostedOutcome[]
  /** The current size of the host. */
  readonly rssBytes: number
}
