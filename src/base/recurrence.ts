import { Cron } from 'croner'
import { UsageError } from './errors.ts'
import { own } from './own.ts'
import { isZone } from './zone-time.ts'

/** When something is due repeatedly: a cron line of five fields, read in a time zone. */
export interface Recurrence {
  readonly cron: string
  /** An IANA name such as Europe/Berlin. */
  readonly timezone: string
}

/** Names for common cron lines, which may be used in their place. */
export const PERIODS = {
  hour: '0 * * * *',
  day: '0 0 * * *',
  week: '0 0 * * 1',
  month: '0 0 1 * *',
  year: '0 0 1 1 *',
} as const

const TAKES = `${Object.keys(PERIODS).join(', ')}, or the five fields of a cron line: minute hour day month weekday`

/**
 * Reads a period or a cron line as typed. Throws UsageError for anything else, for a line that is never due
 * (30 February), and for an unknown time zone.
 * @param timezone by default that of this process
 */
export function recurrenceOf(typed: string, timezone = Intl.DateTimeFormat().resolvedOptions().timeZone): Recurrence {
  const words = typed.trim().toLowerCase()
  const cron = own<string>(PERIODS, words) ?? typed.trim()
  if (!isZone(timezone))
    throw new UsageError(`there is no time zone "${timezone}"`, 'they have names such as Europe/Berlin or UTC')
  if (cron.split(/\s+/).length !== 5) throw new UsageError(`--every takes ${TAKES}; not "${typed}"`)
  const next = attempt(() => nextMoment({ cron, timezone }, new Date()), typed)
  if (next === undefined) throw new UsageError(`"${typed}" is never due: no such day ever comes`)
  return { cron, timezone }
}

/**
 * The first due moment after another one; undefined when none ever comes. A moment in the hour that daylight saving
 * leaves out is due when the hour has passed; one in the hour that comes twice is due once, unless it is due every
 * hour.
 */
export function nextMoment({ cron, timezone }: Recurrence, after: Date): Date | undefined {
  return new Cron(cron, { timezone, mode: '5-part', paused: true }).nextRun(after) ?? undefined
}

function attempt<T>(read: () => T, typed: string): T {
  try {
    return read()
  } catch (error) {
    const why = (error as Error).message.replace(/^Cron\w+: /, '')
    throw new UsageError(`--every "${typed}" is not a cron line: ${why}`, `it takes ${TAKES}`)
  }
}
