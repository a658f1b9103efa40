import { sleep } from '../base/abort.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import { isTransient } from '../processes/spawned.ts'

const LOOK_MS = 500

/**
 * What must be done, such as reaping a worker that died, must not be forgotten because the database is away at that
 * moment, or we are out of descriptors. Throws what else goes wrong, and when `force` is set.
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
