import { sleep } from '../../base/abort.ts'
import { isDatabaseAway } from '../../db/trouble.ts'
import { isTransient } from '../../processes/spawned.ts'

const LOOK_MS = 500

/**
 * Repeats work that must not be skipped, such as reaping a dead worker, while the database is away or the machine is
 * out of descriptors. Rethrows any other error, and stops when `force` aborts.
 */
export async function retryTransient<T>(work: () => Promise<T>, force: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (force.aborted || !(isDatabaseAway(error) || isTransient(error))) throw error
      await sleep(LOOK_MS, force)
    }
  }
}
