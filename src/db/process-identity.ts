/**
 * Names one operating system process so that it cannot be confused with a later one of the same pid. Compared exactly.
 */
export interface ProcessIdentity {
  readonly bootId: string
  readonly pidNamespace: string
  readonly pid: number
  /** Clock ticks since boot on Linux; milliseconds since 1970 where there is no /proc. */
  readonly startTicks: number
}
