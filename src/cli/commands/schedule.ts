import { Intake } from '../../app/add/intake.ts'
import { withLimit } from '../../app/add/new-crawl.ts'
import { findIds } from '../../app/ids.ts'
import { addSchedule, scheduleUrls } from '../../app/schedules/add-schedule.ts'
import { changeSchedules, type ScheduleChange } from '../../app/schedules/change-schedules.ts'
import { oneLine } from '../../base/clean.ts'
import { strongest } from '../../base/config.ts'
import { AppError } from '../../base/errors.ts'
import { recurrenceOf } from '../../base/recurrence.ts'
import { shortId } from '../../base/words.ts'
import { inZone } from '../../base/zone-time.ts'
import { AddressFilter } from '../../browse/network/address-filter.ts'
import { scheduleRecord } from '../../db/records.ts'
import { type ListedSchedule, listSchedules } from '../../db/schedules.ts'
import { type CrawlOptions, limitsOf } from '../crawl-options.ts'
import { many } from '../format.ts'
import { asProcess, openHome, withHome } from '../home.ts'
import type { GlobalOptions } from '../options.ts'
import { ID } from '../records/list-kind.ts'
import { type PrintOptions, printerOf } from '../records/print.ts'
import { onStderr } from '../screen/palette.ts'
import type { Column } from '../screen/table.ts'
import type { Asked } from '../settings.ts'
import { type SourceOptions, takeIn } from '../take-in.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'
import { toType } from '../to-type.ts'

export interface ScheduleOptions extends CrawlOptions, SourceOptions {
  readonly every: string
  readonly timezone?: string
}

/** `schedule add`: writes a row; the first crawl is created when it is due. */
export async function scheduleAdd(options: Asked, args: readonly string[], verb: ScheduleOptions): Promise<void> {
  const recurrence = options.problems.attempt(() => recurrenceOf(verb.every, verb.timezone))
  const limits = await limitsOf(options, verb)
  const intake = new Intake(AddressFilter.ofPrivate(strongest(limits.config.env ?? {}, options.settings.texts)))
  const urls = await takeIn(intake, args, 'schedule add --every day', verb)
    .then(scheduleUrls)
    .finally(() => intake.close())
  const crawl = verb.maxUrls === undefined ? withLimit(limits, urls.length) : limits
  const open = await openHome(options, 'if-empty')
  try {
    await asProcess(open.home, 'cli', async () => {
      const row = await addSchedule(open, { every: verb.every, recurrence: recurrence!, urls, crawl })
      if (wantsJson(options)) return printRecord(scheduleRecord(row))
      const when = `${inZone(row.next_at, row.timezone)} (${row.timezone})`
      terminal.say(`schedule ${row.id}: ${many(urls.length, 'URL')}, next at ${when}`)
      const way = onStderr.bold(toType(options, 'archivebox-ts run'))
      terminal.say(`${way} archives them; schedule run ${shortId(row.id)} queues them now`)
    })
  } finally {
    await open.close()
  }
}

/** `schedule list` */
export async function scheduleList(options: GlobalOptions, verb: PrintOptions): Promise<void> {
  const printer = printerOf(options, { columns: COLUMNS, record: scheduleRecord }, verb)
  await withHome(options, async ({ db }) =>
    printer.list(await listSchedules(db), 'no schedules; schedule add creates one'),
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

const DONE = { pause: 'paused', resume: 'resumed', remove: 'removed' } as const

/** `schedule pause`, `resume`, `run`, `remove`. Exit code 1 when none of them is in a state that allows it. */
export async function scheduleChange(options: GlobalOptions, verb: ScheduleChange, ids: readonly string[]) {
  await withHome(options, async (home, open) => {
    const found = await findIds(home, { noun: 'schedule', table: 'schedule' }, ids)
    await asProcess(home, 'cli', async () => {
      const { changed, crawls, refused } = await changeSchedules(open, verb, found)
      if (verb === 'resume')
        for (const { id, next_at, timezone } of changed)
          terminal.say(`${id} is next due at ${inZone(next_at, timezone)}`)
      for (const { id } of changed)
        terminal.say(verb === 'run' ? `${id}: queued crawl ${crawls.get(id)}` : `${DONE[verb]}: ${id}`)
      for (const [id, why] of refused) terminal.say(`${id}${verb === 'run' ? ':' : ''} ${why}`)
      if (changed.length === 0) throw new AppError(`no schedule to ${verb}`)
      if (wantsJson(options)) for (const row of changed) printRecord(scheduleRecord(row))
    })
  })
}
