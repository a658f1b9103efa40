import type { Settings } from '../../base/config.ts'
import { type BackupRow, knownBackups } from '../../db/backups.ts'
import type { Database } from '../../db/database.ts'

/** How long after a failure the next attempt begins, in seconds, if the schedule does not come first. */
export const RETRY_SECONDS = 3_600

/** The last backup, what failed after it, and when the schedule makes the next one. */
export async function backupFacts(db: Database, { config }: Settings) {
  const { last, failed } = await knownBackups(db)
  const every = config.BACKUP_EVERY
  return {
    last: last && shown(last),
    failed: failed && shown(failed),
    every_s: every ?? null,
    /** Seconds; below 0: it is late. */
    next_in_s: every === undefined ? null : secondsToNext(every, last, failed),
  }
}

/** In how many seconds a backup is due; 0 or less: now. */
export function secondsToNext(every: number, last: Aged | null, failed: Aged | null): number {
  const due = last ? every - last.age_s : 0
  return failed ? Math.max(due, Math.min(every, RETRY_SECONDS) - failed.age_s) : due
}

type Aged = Pick<BackupRow, 'age_s'>

function shown({ data_dir_id, file, is_scheduled, begun_at, age_s, size, checked, why }: BackupRow) {
  return { data_dir_id, file, is_scheduled, begun_at, age_s, size, checked, why }
}
