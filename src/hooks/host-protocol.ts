/** One hook for the host to run: all that a process would have got from its command line, environment and descriptors. */
export interface HostJob {
  readonly path: string
  readonly url: string
  readonly outputDir: string
  readonly env: Readonly<Record<string, string>>
  readonly stdout: string
  readonly stderr: string
  readonly timeoutMs: number
}

/** The host's answer: the exit code that the hook would have had, and how large the host has become. */
export interface HostReply {
  readonly code: number
  readonly rssBytes: number
}
