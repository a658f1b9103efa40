import { sql } from 'kysely'
import { failpoint } from '../base/failpoint.ts'
import { nextMoment } from '../base/recurrence.ts'
import { UrlListBuilder } from '../base/url-list.ts'
import { inZone } from '../base/zone-time.ts'
import { insertCrawl } from '../db/crawls.ts'
import { type Database, kyselySql } from '../db/database.ts'
import { transact } from '../db/retry.ts'
import { type CrawlOfSchedule, crawlsInTheWay, databaseNow, lockSchedules, type ScheduleRow } from '../db/schedules.ts'
import { type Claimed, Queue, RETRY_AT_MAX } from '../engine/queue.ts'
import { scheduleMachine } from './schedule.ts'

/** What became of a due moment. */
export interface Moment {
  readonly dueAt: Date
  /** The crawl that was added; undefined: it was skipped. */
  readonly crawlId: string | undefined
  /** Why it was skipped, or what it makes up for; else empty. */
  readonly message: string
}

type Claim = Claimed<typeof scheduleMachine, 'active', ScheduleRow>

/**
 * Handles the due moment of a claimed schedule and releases it until its next one, in one transaction: after a kill
 * either nothing has happened or all of it. Several missed moments count as one, the first of them. Undefined: it was
 * not due yet.
 */
export async function handleMoment(
  db: Database,
  queue: Queue<typeof scheduleMachine, ScheduleRow>,
  claim: Claim,
): Promise<Moment | undefined> {
  return await transact(db, async (tx) => {
    const { row } = claim
    // Somebody may run it at this very moment: whoever comes second sees the crawl of the first.
    await lockSchedules(tx, [row.id])
    const now = await databaseNow(tx)
    const own = queue.on(kyselySql(tx))
    const moment = row.next_at > now ? undefined : await momentOf(tx, row, now)
    const nextAt = moment === undefined ? row.next_at : nextAfter(row, now)
    if (moment) await own.update(claim, { next_at: nextAt, last_at: moment.dueAt, message: moment.message })
    await failpoint('claim.schedule_added')
    await own.release(claim, nextAt.getTime() - now.getTime())
    return moment
  })
}

async function momentOf(tx: Database, row: ScheduleRow, now: Date): Promise<Moment> {
  const dueAt = row.next_at
  const inTheWay = await crawlsInTheWay(tx, row.id, dueAt)
  const made = inTheWay.find(({ due_at }) => due_at.getTime() === dueAt.getTime())
  if (made) return { dueAt, crawlId: made.id, message: '' }
  if (inTheWay[0])
    return { dueAt, crawlId: undefined, message: `${at(row, dueAt)} was skipped: ${unfinished(row, inTheWay[0])}` }
  const isLate = nextAfter(row, dueAt) <= now
  const message = isLate ? `${at(row, now)} made up for what was missed since ${at(row, dueAt)}` : ''
  return { dueAt, crawlId: await addCrawl(tx, row, dueAt), message }
}

/**
 * Adds a crawl now, whatever is due when.
 * @returns for each existing schedule its crawl, or a sentence about why there is none
 */
export async function runSchedules(
  db: Database,
  ids: readonly string[],
): Promise<{ readonly id: string; readonly crawlId?: string; readonly refused?: string }[]> {
  return await transact(db, async (tx) => {
    const now = await databaseNow(tx)
    const done = []
    for (const row of await lockSchedules(tx, ids)) {
      const [other] = await crawlsInTheWay(tx, row.id, now)
      done.push(
        other ? { id: row.id, refused: unfinished(row, other) } : { id: row.id, crawlId: await addCrawl(tx, row, now) },
      )
    }
    return done
  })
}

/** Pauses schedules. @returns those that were active */
export async function pauseSchedules(db: Database, ids: readonly string[]): Promise<string[]> {
  return await new Queue(scheduleMachine, kyselySql(db)).send(ids, 'pause', RETRY_AT_MAX)
}

/** Resumes paused schedules; moments that passed meanwhile are not made up for. @returns those that were paused */
export async function resumeSchedules(db: Database, ids: readonly string[]): Promise<string[]> {
  return await transact(db, async (tx) => {
    const now = await databaseNow(tx)
    const resumed: string[] = []
    for (const row of await lockSchedules(tx, ids)) {
      const nextAt = nextAfter(row, now)
      const moved = await new Queue(scheduleMachine, kyselySql(tx)).send([row.id], 'resume', nextAt)
      await sql`update schedule set next_at = ${nextAt} where id = any(${moved}::uuid[])`.execute(tx)
      resumed.push(...moved)
    }
    await sql`select pg_notify('archivebox_work', '')`.execute(tx)
    return resumed
  })
}

async function addCrawl(tx: Database, row: ScheduleRow, dueAt: Date): Promise<string> {
  const urls = new UrlListBuilder()
  try {
    for (const url of row.urls.split('\n')) urls.add(url)
    const { id } = await insertCrawl(tx, { ...row.crawl, list: urls.list()!, schedule: { id: row.id, dueAt } })
    return id
  } finally {
    urls.close()
  }
}

/** Throws when there is none: a schedule that is never due was refused when it was added. */
function nextAfter(row: ScheduleRow, moment: Date): Date {
  const next = nextMoment(row, moment)
  if (!next) throw new Error(`schedule ${row.id}: "${row.cron}" is never due again`)
  return next
}

const at = (row: ScheduleRow, moment: Date) => inZone(moment, row.timezone)
const unfinished = (row: ScheduleRow, { id, status, due_at }: CrawlOfSchedule) =>
  `crawl ${id} of ${at(row, due_at)} is ${status}, not finished`
