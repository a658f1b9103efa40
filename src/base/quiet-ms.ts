import { availableParallelism, loadavg } from 'node:os'

/** However busy the machine is, a wait is at most ten times as long. */
const MOST = 10

/**
 * This many milliseconds of a quiet machine: longer on an overloaded one, in proportion. Bounds how long a person waits
 * for an answer that comes at once unless something hangs.
 * @param busy processes that want to run, per core
 */
export function quietMs(ms: number, busy = loadavg()[0]! / availableParallelism()): number {
  return Math.round((ms * Math.min(Math.max(1, busy), MOST)) / 100) * 100
}
