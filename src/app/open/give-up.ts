import type { Database } from '../../db/database.ts'

const LEAVE_MS = 500

/** Closes a pool. A connection that is being made may take its time to fail: we do not wait for that. */
export async function giveUp(db: Database): Promise<void> {
  await Promise.race([db.destroy().catch(() => {}), leaveTime()])
}

/** How long an exiting process waits for the other side. */
export const leaveTime = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, LEAVE_MS).unref())
