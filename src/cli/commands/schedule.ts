import { Intake } from '../../app/add/intake.ts'
import { LINKED_PAGES } from '../../app/add/new-crawl.ts'
import { findIds } from '../../app/ids.ts'
import { trustGiven } from '../../app/trust-given.ts'
import { AddressFilter } from '../../base/address-filter.ts'
import { oneLine } from '../../base/clean.ts'
import { strongest } from '../../base/config.ts'
import { AppError, UsageError } from '../../base/errors.ts'
import { nextMoment, recurrenceOf } from '../../base/recurrence.ts'
import { inZone } from '../../base/zone-time.ts'
import type { Home } from '../../db/home.ts'
import { scheduleRecord } from '../../db/records.ts'
import { databaseNow, deleteSchedules, insertSchedule, type ListedSchedule, listSchedules } from '../../db/schedules.ts'
import { pauseSchedules, resumeSchedules, runSchedules } from '../../machines/scheduled-crawls.ts'
import { type CrawlOptions, limitsOf } from '../crawl-options.ts'
import { many, shortId } from '../format.ts'
import { asProcess, openHome, withHome } from '../home.ts'
import { sayMeanwhile } from '../meanwhile.ts'
import type { GlobalOptions } from '../options.ts'
import { ID } from '../records/list-kind.ts'
import { type PrintOptions, printerOf } from '../records/print.ts'
import { onStderr } from '../screen/palette.ts'
import type { Column } from '../screen/table.ts'
import type { Asked } from '../settings.ts'
import { type ListOptions, takeIn } from '../take-in.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'

export interface ScheduleOptions extends CrawlOptions, ListOptions {
  readonly every: string
  readonly timezone?: string
}

/** The list of a schedule is kept in one row, and copied for each of its crawls. */
const MOST_URLS = 10_000

/** `schedule add`: writes a row; the first crawl is made when it is due. */
export async function scheduleAdd(options: Asked, args: readonly string[], verb: ScheduleOptions): Promise<void> {
  const recurrence = options.problems.attempt(() => recurrenceOf(verb.every, verb.timezone))
  const limits = await limitsOf(options, verb)
  const intake = new Intake(AddressFilter.ofPrivate(strongest(limits.config.env ?? {}, options.settings.texts)))
  const urls = await takeIn(intake, args, verb)
    .then(() => Array.from(intake.list({ tell: sayMeanwhile }), ({ url }) => url))
    .finally(() => intake.close())
  if (urls.length > MOST_URLS)
    throw new UsageError(`${urls.length} URLs: a schedule has at most ${MOST_URLS}`, 'add them as several schedules')
  const isUnlimited = limits.maxDepth > 0 && verb.maxUrls === undefined
  const crawl = isUnlimited ? { ...limits, maxUrls: urls.length + LINKED_PAGES } : limits
  const open = await openHome(options, 'if-empty')
  try {
    await asProcess(open.home, 'cli', async () => {
      const { db, dataDir } = open.home
      trustGiven(options.known, dataDir, crawl.config)
      const nextAt = nextMoment(recurrence!, await databaseNow(db))!
      const row = await insertSchedule(db, { every: verb.every.trim(), ...recurrence!, urls, crawl, nextAt })
      if (wantsJson(options)) return printRecord(scheduleRecord({ ...row, last_crawl_id: null }))
      const when = `${inZone(nextAt, row.timezone)} (${row.timezone})`
      terminal.say(`schedule ${row.id}: ${many(urls.length, 'URL')}, next at ${when}`)
      terminal.say(
        `${onStderr.bold('archivebox-ts run')} archives them; schedule run ${shortId(row.id)} queues them now`,
      )
    })
  } finally {
    await open.close()
  }
}

/** `schedule list` */
export async function scheduleList(options: GlobalOptions, verb: PrintOptions): Promise<void> {
  const printer = printerOf(options, { columns: COLUMNS, record: scheduleRecord }, verb)
  await withHome(options, async ({ db }) =>
    printer.list(await listSchedules(db), 'no schedules; schedule add makes one'),
  )
}

const COLUMNS: readonly Column<ListedSchedule>[] = [
  ID,
  {
    name: 'next',
    value: ({ status, next_at, timezone }) => (status === 'paused' ? status : inZone(next_at, timezone)),
    style: ({ status }, palette) => (status === 'paused' ? palette.yellow : (text) => text),
  },
  { name: 'every', value: ({ every }) => oneLine(every), rank: 1 },
  { name: 'timezone', value: ({ timezone }) => oneLine(timezone), rank: 4 },
  {
    name: 'last',
    value: ({ last_at, timezone }) => (last_at ? inZone(last_at, timezone) : ''),
    rank: 3,
    optional: true,
  },
  { name: 'what', value: ({ crawl, urls }) => oneLine(crawl.label || urls.split('\n', 1)[0]!), cut: 'middle' },
  { name: 'message', value: ({ message }) => oneLine(message), cut: 'end', rank: 2, optional: true },
]

type Change = 'pause' | 'resume' | 'run' | 'remove'

/** `schedule pause`, `resume`, `run`, `remove`. Exit code 1 when the state of none of them allows it. */
export async function scheduleChange(options: GlobalOptions, verb: Change, ids: readonly string[]): Promise<void> {
  await withHome(options, async (home) => {
    const found = await findIds(home, { noun: 'schedule', table: 'schedule' }, ids)
    await asProcess(home, 'cli', async () => {
      const rows = await listSchedules(home.db, found)
      const { changed, refused } = await CHANGES[verb](home, rows)
      for (const line of refused) terminal.say(line)
      if (changed.length === 0) throw new AppError(`no schedule to ${verb}`)
      if (!wantsJson(options)) return
      const after =
        verb === 'remove' ? rows.filter(({ id }) => changed.includes(id)) : await listSchedules(home.db, changed)
      for (const row of after) printRecord(scheduleRecord(row))
    })
  })
}

interface Changed {
  readonly changed: readonly string[]
  /** Why the others are as they were. */
  readonly refused: readonly string[]
}

const CHANGES: Readonly<Record<Change, (home: Home, rows: readonly ListedSchedule[]) => Promise<Changed>>> = {
  pause: async ({ db }, rows) => said(rows, await pauseSchedules(db, idsOf(rows)), 'paused'),
  resume: async ({ db }, rows) => {
    const resumed = await resumeSchedules(db, idsOf(rows))
    for (const { id, next_at, timezone } of await listSchedules(db, resumed))
      terminal.say(`${id} is next due at ${inZone(next_at, timezone)}`)
    return said(rows, resumed, 'resumed')
  },
  remove: async ({ db }, rows) => said(rows, await deleteSchedules(db, idsOf(rows)), 'removed'),
  run: async ({ db }, rows) => {
    const done = await runSchedules(db, idsOf(rows))
    for (const { id, crawlId } of done) if (crawlId) terminal.say(`${id}: queued crawl ${crawlId}`)
    return {
      changed: done.flatMap(({ id, crawlId }) => (crawlId ? [id] : [])),
      refused: done.flatMap(({ id, refused }) => (refused ? [`${id}: ${refused}`] : [])),
    }
  },
}

function said(rows: readonly ListedSchedule[], changed: readonly string[], done: string): Changed {
  for (const id of changed) terminal.say(`${done}: ${id}`)
  return {
    changed,
    refused: rows.filter(({ id }) => !changed.includes(id)).map(({ id, status }) => `${id} is ${status} already`),
  }
}

const idsOf = (rows: readonly ListedSchedule[]) => rows.map(({ id }) => id)
