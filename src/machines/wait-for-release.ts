import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type RawBuilder, sql } from 'kysely'
import { sleep } from '../base/abort.ts'
import { WORK } from '../base/attempt-paths.ts'
import { AppError } from '../base/errors.ts'
import type { Home } from '../db/home.ts'
import type { HeldPage } from '../db/pages-in-work.ts'
import { withRetry } from '../db/retry.ts'
import { presentRows } from '../processes/presence.ts'

/**
 * A worker notices at the next renewal of its lease, after at most 20 s, that it has lost a row; after that its hooks
 * get time to end.
 */
const RELEASE_MS = 30_000
const LOOK_MS = 100

/**
 * Waits for the end of hooks that were running for something when it was taken from its owner, and until workers have
 * left its pages. Throws AppError when some are still there after half a minute.
 * @param processes condition on `process p`: the processes concerned
 * @param snapshots condition on `snapshot s`: the snapshots whose running hooks are concerned, too
 * @param held the pages that were in work before: their workers remove the work trees when they have noticed
 */
export async function waitForRelease(
  home: Home,
  what: string,
  processes: RawBuilder<unknown>,
  snapshots: RawBuilder<unknown>,
  held: readonly HeldPage[],
): Promise<void> {
  for (const end = performance.now() + RELEASE_MS; ; ) {
    const rows = await withRetry(home.db, async () => {
      const ids = (await presentRows(home)).map(({ id }) => id)
      const inWork = held.filter(({ output_dir: dir }) => existsSync(join(home.dataDir, dir, WORK)))
      const workers = inWork.map(({ claimed_by: worker }) => worker).filter((worker) => ids.includes(worker))
      // A process that a worker has announced may be running already: the worker writes the identity of a hook once it
      // has run for a moment.
      const found = await sql<{ pid: number | null }>`
      select p.pid from process p where (p.id = any(${ids}::uuid[]) or p.status = 'starting'
        and p.parent_id = any(${ids}::uuid[])) and (${processes} or p.id = any(${workers}::uuid[]) or p.id in (
        select r.process_id from archive_result r join snapshot s on s.id = r.snapshot_id where r.status = 'started'
          and ${snapshots}))`.execute(home.db)
      return found.rows
    })
    if (rows.length === 0) return
    if (performance.now() > end)
      throw new AppError(
        `${what} is still being worked on (pid ${rows.map(({ pid }) => pid ?? '?').join(', ')}): it is paused now`,
        {
          hint: 'delete it later; archivebox-ts process tree shows its processes',
        },
      )
    await sleep(LOOK_MS)
  }
}
