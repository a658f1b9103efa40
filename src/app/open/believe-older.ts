import { settingsOfRows } from '../../db/backup/left-out.ts'
import type { Database } from '../../db/database.ts'
import type { KnownSettings } from '../../hooks/known-settings.ts'
import { trustSettings } from '../trust-given.ts'

/** From this version of the schema on, what a row says counts where it was set here (`../base/trusted-settings.ts`). */
const FIRST_NOTED = 38

/**
 * For `migrate`: what crawls and schedules of an older release were told, whoever used it here has set. Such a database
 * is no stranger's, who hands out backups and records.
 */
export const believeOlder = (known: KnownSettings, dataDir: string) => async (tx: Database, since: number) => {
  if (since > 0 && since < FIRST_NOTED) trustSettings(known, dataDir, await settingsOfRows(tx))
}
