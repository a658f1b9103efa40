import type { DatabaseOptions } from '../db/database.ts'
import { askAhead, type DatabaseAhead } from './database-ahead.ts'
import type { Asked, Asking } from './settings.ts'

/**
 * Has a command in a hurry, which may make a data dir, connect to its database and ask who leads while it still reads
 * its settings.
 * @param asked reads them
 * @param connection undefined: it connects when its turn has come
 * @param work the command, with its settings
 */
export async function withDatabaseAhead(
  asked: Asking,
  connection: DatabaseOptions | undefined,
  work: (given: Asked) => Promise<void>,
): Promise<void> {
  let ahead: DatabaseAhead | undefined
  try {
    const given = await asked(true, async ({ DATA_DIR, DATABASE_URL }) => {
      if (connection && !DATABASE_URL) ahead = await askAhead(DATA_DIR, connection)
    })
    await work({ ...given, ahead })
  } finally {
    await ahead?.close()
  }
}
