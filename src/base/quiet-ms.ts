import { availableParallelism, loadavg } from 'node:os'

/** However busy the machine is, nobody waits for longer than ten times as long. */
const MOST = 10

/**
 * So many milliseconds of a quiet machine: longer on one that has more to do than it can, in that proportion. For how
 * long a person waits for an answer that comes at once unless something hangs.
 * @param busy processes that want to run, for each core
 */
export function quietMs(ms: number, busy = loadavg()[0]! / availableParallelism()): number {
  return Math.round((ms * Math.min(Math.max(1, busy), MOST)) / 100) * 100
}
