import { type Command, Option } from 'commander'
import { FORMATS } from '../../importers/formats.ts'
import type { ScheduleOptions } from '../commands/schedule.ts'
import type { GlobalOptions } from '../options.ts'
import { listOptions } from '../records/list-options.ts'
import { limitOptions } from '../records/register.ts'
import type { Asked } from '../settings.ts'
import { verb } from '../verb.ts'

const IDS = 'a full id, or at least 6 of its first or last digits'

/** `schedule` and its verbs. */
export function registerSchedule(
  root: Command,
  globals: () => Promise<GlobalOptions>,
  asked: () => Promise<Asked>,
): void {
  const load = async () => await import('../commands/schedule.ts')
  const schedules = verb(root, 'schedule', 'schedules: what is archived regularly, while a runner is there')
  limitOptions(
    verb(schedules, 'add', 'archive these URLs regularly', [
      'archivebox-ts schedule add --every day https://example.com',
      'archivebox-ts schedule add --every "0 4 * * 1" --timezone Europe/Berlin --tag news --file urls.txt',
    ]),
  )
    .argument('[url...]', 'http or https; without URLs: read from stdin')
    .requiredOption('--every <when>', 'hour, day, week, month, year, or a cron line: minute hour day month weekday')
    .option('--timezone <name>', 'the time zone of --every, such as Europe/Berlin (default: that of this machine)')
    .option('--file <file>', 'read a list of URLs from a file, as add does; - is stdin')
    .addOption(
      new Option('--parser <format>', 'the format of the list')
        .choices(['auto', ...FORMATS])
        .default('auto', 'detected from its content'),
    )
    .action(async (urls: string[], options: ScheduleOptions) =>
      (await load()).scheduleAdd(await asked(), urls, options),
    )
  listOptions(
    verb(schedules, 'list', 'all schedules, the one due first at the top', [
      'archivebox-ts schedule list',
      'archivebox-ts schedule list --json',
    ]),
  ).action(async (options: object) => (await load()).scheduleList(await globals(), options))
  for (const [name, description] of [
    ['pause', 'make no more crawls until it is resumed'],
    ['resume', 'go on with what was paused, from the next time on'],
    ['run', 'make a crawl now, whatever is due when'],
    ['remove', 'forget schedules; what they have archived stays'],
  ] as const) {
    verb(schedules, name, description, [`archivebox-ts schedule ${name} 9c41d2e7`])
      .argument('<id...>', IDS)
      .action(async (ids: string[]) => (await load()).scheduleChange(await globals(), name, ids))
  }
}
