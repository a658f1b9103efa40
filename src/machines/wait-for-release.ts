import { type RawBuilder, sql } from 'kysely'
import { sleep } from '../base/abort.ts'
import { AppError } from '../base/errors.ts'
import type { Home } from '../db/home.ts'
import { presentRows } from '../processes/presence.ts'

/**
 * A worker sees with the next renewal of its lease, after 20 s at most, that a row is not its own any more; then its
 * hooks are given time to end.
 */
const PATIENCE_MS = 30_000
const LOOK_MS = 100

/**
 * Waits until the hooks have ended that ran for something when it was taken from its owner.
 * @param processes which rows of `process p` are at it
 * @param snapshots which rows of `snapshot s` belong to it: whatever runs a started result of theirs is at it, too
 * Throws AppError when some go on for half a minute.
 */
export async function waitForRelease(
  home: Home,
  what: string,
  processes: RawBuilder<unknown>,
  snapshots: RawBuilder<unknown>,
): Promise<void> {
  for (const end = performance.now() + PATIENCE_MS; ; ) {
    const ids = (await presentRows(home)).map(({ id }) => id)
    const { rows } = await sql<{ pid: number | null }>`
      select p.pid from process p where p.id = any(${ids}::uuid[]) and (${processes} or p.id in (
        select r.process_id from archive_result r join snapshot s on s.id = r.snapshot_id where r.status = 'started'
          and ${snapshots}))`.execute(home.db)
    if (rows.length === 0) return
    if (performance.now() > end)
      throw new AppError(
        `${what} is still being worked on (pid ${rows.map(({ pid }) => pid ?? '?').join(', ')}): it is paused now`,
        {
          hint: 'delete it later; archivebox-ts process tree shows who is at it',
        },
      )
    await sleep(LOOK_MS)
  }
}
