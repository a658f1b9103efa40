import { sleep } from '../base/abort.ts'
import type { ActorSlot, Exit } from './actor-slot.ts'
import type { Machine } from './machine.ts'
import type { Queue } from './queue.ts'

const RETRY_MS = 1_000

/** What is needed for reaping. */
export interface Reaping {
  readonly queue: Queue<Machine>
  /** The name of the actor in reports. */
  readonly name: string
  readonly report: (error: unknown) => void
  /** When it aborts, the pool has no time left: an error is thrown, and the leases end by themselves. */
  readonly leaving: AbortSignal
}

/**
 * Reports how an actor ended and makes its rows due again (by its token, where the table has no owner). Repeats while
 * the database is away.
 */
export async function reapActor(
  { owner, pid, token }: ActorSlot,
  { code, signal, error }: Exit,
  { queue, name, report, leaving }: Reaping,
): Promise<void> {
  if (error) report(error)
  else if (code !== 0) report(new Error(`${name} ${pid} ended with ${signal ?? `exit code ${code}`}`))
  const known = queue.machine.columns.owner ? owner : token
  while (known !== undefined) {
    try {
      await queue.requeueClaimsOf([known])
      return
    } catch (failure) {
      if (leaving.aborted) throw failure
      report(failure)
      await sleep(RETRY_MS, leaving)
    }
  }
}
