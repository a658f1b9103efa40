import { AppError, EXIT } from '../../base/errors.ts'
import type { Database } from '../../db/database.ts'
import { pagesOfNode } from '../../db/node-pages.ts'

/** Pages in one statement: it takes a few milliseconds. */
const BATCH = 100
const FIRST = '00000000-0000-0000-0000-000000000000'

/** Passes the sealed pages of a node to `work`, batch by batch. Throws AppError when `signal` aborts. */
export async function eachBatch(
  db: Database,
  nodeId: string,
  signal: AbortSignal | undefined,
  work: (ids: readonly string[]) => Promise<void>,
): Promise<void> {
  for (let after = FIRST; ; ) {
    if (signal?.aborted)
      throw new AppError('interrupted: what is done stays done', {
        exitCode: EXIT.interrupted,
        hint: 'the same command goes on',
      })
    const ids = await pagesOfNode(db, nodeId, after, BATCH)
    if (ids.length === 0) return
    after = ids.at(-1)!
    await work(ids)
  }
}
