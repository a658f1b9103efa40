import { UsageError } from '../../base/errors.ts'
import { nextMoment, type Recurrence } from '../../base/recurrence.ts'
import type { UrlList } from '../../base/url-list.ts'
import { databaseNow, insertSchedule, type ListedSchedule } from '../../db/schedules.ts'
import type { CrawlLimits } from '../add/new-crawl.ts'
import type { Archive } from '../archive.ts'
import { trustGiven } from '../trust-given.ts'

/** The list of a schedule is one row, and copied for each of its crawls. */
const MOST_URLS = 10_000

export interface NewSchedule {
  /** As the user wrote it. */
  readonly every: string
  readonly recurrence: Recurrence
  readonly urls: readonly string[]
  readonly crawl: CrawlLimits
}

/** The URLs of a schedule. Throws UsageError when there are too many. */
export function scheduleUrls(list: UrlList): string[] {
  if (list.total > MOST_URLS)
    throw new UsageError(`${list.total} URLs: a schedule takes at most ${MOST_URLS}`, 'add them as several schedules')
  return Array.from(list, ({ url }) => url)
}

/** Writes a schedule; its first crawl is created when it is due. */
export async function addSchedule(
  { home, known }: Archive,
  { every, recurrence, urls, crawl }: NewSchedule,
): Promise<ListedSchedule> {
  trustGiven(known, home.dataDir, crawl.config)
  const nextAt = nextMoment(recurrence, await databaseNow(home.db))!
  const row = await insertSchedule(home.db, { every: every.trim(), ...recurrence, urls, crawl, nextAt })
  return { ...row, last_crawl_id: null }
}
