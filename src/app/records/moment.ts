import { UsageError } from '../../base/errors.ts'
import { own } from '../../base/own.ts'

const DATE = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})?)?$/i
const AGE = /^(\d{1,6})(s|m|h|d|w)$/
const MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const

/**
 * The moment that an option names: a date or time, in UTC unless it has an offset, or an age before `now`. Throws
 * UsageError.
 * @param option as typed: `--after`
 * @param now milliseconds since 1970
 */
export function momentOf(text: string, option: string, now: number = Date.now()): Date {
  const [, count, unit] = AGE.exec(text) ?? []
  if (unit !== undefined) return new Date(Math.max(0, now - Number(count) * own<number>(MS, unit)!))
  const moment = DATE.test(text) ? dateOf(text) : undefined
  if (moment) return moment
  throw new UsageError(
    `${option} takes a date or an age, not "${text}"`,
    'a date is 2026-11-01 or 2026-11-01T08:30, in UTC unless it has an offset (+02:00); an age is 45m, 12h, 7d or 2w',
  )
}

/** Undefined: there is no such day or hour. */
function dateOf(text: string): Date | undefined {
  const iso = text.toUpperCase().replace(' ', 'T')
  const moment = new Date(iso.length === 10 || /(?:Z|[+-]\d{2}:\d{2})$/.test(iso) ? iso : `${iso}Z`)
  // Otherwise a 30th of February would pass as a 2nd of March.
  const [year, month, day] = iso.slice(0, 10).split('-').map(Number) as [number, number, number]
  const isDay = new Date(Date.UTC(year, month - 1, day)).getUTCDate() === day
  return isDay && moment.getTime() >= 0 ? moment : undefined
}
