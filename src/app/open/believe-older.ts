import { settingsOfRows } from '../../db/backup/left-out.ts'
import type { Database } from '../../db/database.ts'
import type { KnownSettings } from '../../hooks/known-settings.ts'
import { trustSettings } from '../trust-given.ts'

/** From this version of the schema on, a row's setting counts if it was set here (`../base/trusted-settings.ts`). */
const FIRST_NOTED = 38

/**
 * For `migrate`: in a database of an older release, the settings of crawls and schedules were set by the person who
 * used it here. Such a database is not from an untrusted source, as backups and records may be.
 */
export const believeOlder = (known: KnownSettings, dataDir: string) => async (tx: Database, since: number) => {
  if (since > 0 && since < FIRST_NOTED) trustSettings(known, dataDir, await settingsOfRows(tx))
}
