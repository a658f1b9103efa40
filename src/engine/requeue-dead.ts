import { sleep } from '../base/abort.ts'
import type { Machine } from './machine.ts'
import type { Queue } from './queue.ts'

const RETRY_MS = 1_000

/**
 * Takes its rows from an owner that is dead (its token, where the table names no owner). A database that is away is
 * asked again and again, until `leaving` aborts: then it throws what is wrong, and the leases end by themselves.
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
