import { sql } from 'kysely'
import type { Database } from './tables.ts'

/**
 * Lets a transaction do other work between its statements, such as moving files: a server may end one that is idle.
 * @param atMost by default without end
 */
export async function mayPause(tx: Database, atMost = '0'): Promise<void> {
  await sql`select set_config('idle_in_transaction_session_timeout', ${atMost}, true)`.execute(tx)
}
