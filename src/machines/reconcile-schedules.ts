import { sql } from 'kysely'
import type { Database } from '../db/database.ts'
import { byIndex } from '../db/lists/by-index.ts'
import type { Machine } from '../engine/machine.ts'
import { isMisscheduled, rescheduled } from '../engine/woken.ts'
import { lockCrawls, wakeCrawls } from './commands.ts'
import { crawlMachine } from './crawl.ts'
import { snapshotMachine } from './snapshot.ts'

/**
 * A new leader repairs rows in states that no crash leaves, but manual changes or a restored backup may: open rows
 * without a schedule become due, paused ones wait again, and a crawl that was released as idle over such a page becomes
 * due.
 * @returns how many
 */
export async function reconcileSchedules(db: Database): Promise<number> {
  return await byIndex(db, async (tx) => {
    const pages = sql`select crawl_id from snapshot work where ${sql.raw(isMisscheduled(snapshotMachine))}`
    const ids = await lockCrawls(tx, sql`id = any(array(${pages}))`)
    const crawls = await reschedule(tx, crawlMachine)
    if (ids.length === 0) return crawls
    const repaired = await reschedule(tx, snapshotMachine)
    await wakeCrawls(tx, ids)
    return crawls + repaired
  })
}

async function reschedule(tx: Database, machine: Machine): Promise<number> {
  const { rows } = await sql`with ${sql.raw(rescheduled(machine, 'repaired'))} select from repaired`.execute(tx)
  return rows.length
}
