import { sleep } from '../base/abort.ts'
import { isDatabaseAway } from '../db/trouble.ts'

const LOOK_MS = 500

/** What must be written, such as that a worker is dead, must not be forgotten because the database is away at that moment. Throws what else goes wrong, and when `force` is set. */
export async function untilDatabaseIsBack<T>(work: () => Promise<T>, force: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isDatabaseAway(error) || force.aborted) throw error
      await sleep(LOOK_MS, force)
    }
  }
}
