import { availableParallelism } from 'node:os'

/** Above this length of the queue two actors start at once. */
const LONG_QUEUE = 10

/** Actors per pool: 60 % of the cores, at least 2, at most 8. */
export const MAX_CONCURRENT_ACTORS = Math.max(2, Math.min(8, Math.trunc(availableParallelism() * 0.6)))

/**
 * How many actors to start now: none for an empty queue, one for a short one, two for a long one; never more than there
 * are free slots.
 */
export function actorsToSpawn(queueLength: number, running: number, max: number = MAX_CONCURRENT_ACTORS): number {
  const wanted = queueLength === 0 ? 0 : queueLength > LONG_QUEUE ? 2 : 1
  return Math.max(0, Math.min(wanted, max - running))
}
