/** How the statements of a process wait while the database is away. */
export interface Patience {
  /** They stop waiting when it aborts. */
  readonly until: AbortSignal
  /** Called with the error before each pause, which begins when it is done. */
  readonly onWait?: (error: unknown) => void | Promise<void>
}
