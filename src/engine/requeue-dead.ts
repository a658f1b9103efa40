import { sleep } from '../base/abort.ts'
import type { Machine } from './machine.ts'
import type { Queue } from './queue.ts'

const RETRY_MS = 1_000

/**
 * Releases the rows of a dead owner (its token, where the table has no owner). Repeats while the database is away; when
 * `leaving` aborts, throws the error, and the leases end by themselves.
 */
export async function requeueDead(
  queue: Queue<Machine>,
  owner: string,
  leaving: AbortSignal,
  report: (error: unknown) => void,
): Promise<void> {
  for (;;) {
    try {
      await queue.requeueClaimsOf([owner])
      return
    } catch (error) {
      if (leaving.aborted) throw error
      report(error)
      await sleep(RETRY_MS, leaving)
    }
  }
}
