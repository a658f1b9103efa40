import { describe, expect, it } from 'vitest'
import { nextMoment, PERIODS, recurrenceOf } from '../../../src/base/recurrence.ts'
import { inZone } from '../../../src/base/zone-time.ts'

/** So many due moments after one, as UTC. */
function moments(typed: string, timezone: string, after: string, count: number): string[] {
  const recurrence = recurrenceOf(typed, timezone)
  const found: Date[] = []
  for (let last = new Date(after); found.length < count; found.push(last)) last = nextMoment(recurrence, last)!
  return found.map((moment) => moment.toISOString().slice(0, 16))
}

const refusal = (typed: string, timezone = 'UTC') => {
  try {
    return recurrenceOf(typed, timezone)
  } catch (error) {
    return (error as Error).message
  }
}

describe('a recurrence', () => {
  it('has words for common cron lines', () => {
    for (const [word, cron] of Object.entries(PERIODS))
      expect(recurrenceOf(` ${word.toUpperCase()} `, 'UTC')).toEqual({ cron, timezone: 'UTC' })
    expect(moments('week', 'UTC', '2027-01-01T00:00Z', 2)).toEqual(['2027-01-04T00:00', '2027-01-11T00:00'])
  })

  it('is due once on the day on which daylight saving leaves its hour out, when that has passed', () => {
    expect(moments('30 2 * * *', 'Europe/Berlin', '2027-03-27T00:00Z', 3)).toEqual([
      '2027-03-27T01:30',
      '2027-03-28T01:00',
      '2027-03-29T00:30',
    ])
  })

  it('is due once on the day on which its hour comes twice, but each hour when it is hourly', () => {
    expect(moments('30 2 * * *', 'Europe/Berlin', '2027-10-30T00:00Z', 3)).toEqual([
      '2027-10-30T00:30',
      '2027-10-31T00:30',
      '2027-11-01T01:30',
    ])
    expect(moments('hour', 'Europe/Berlin', '2027-10-30T23:30Z', 3)).toEqual([
      '2027-10-31T00:00',
      '2027-10-31T01:00',
      '2027-10-31T02:00',
    ])
  })

  it('is due every day of a year at its hour by the clocks of its zone', () => {
    const year = moments('15 4 * * *', 'America/New_York', '2027-01-01T05:00Z', 365)
    const clocks = year.map((moment) => inZone(new Date(`${moment}Z`), 'America/New_York'))
    expect(new Set(clocks.map((text) => text.slice(11)))).toEqual(new Set(['04:15']))
    expect(new Set(clocks.map((text) => text.slice(0, 10))).size).toBe(365)
    expect(clocks.at(-1)).toBe('2027-12-31 04:15')
  })

  it.each([
    ['0 0 30 2 *', 'UTC', '"0 0 30 2 *" is never due: no such day ever comes'],
    ['0 0 31 4,6 *', 'UTC', '"0 0 31 4,6 *" is never due: no such day ever comes'],
    ['99 0 * * *', 'UTC', '--every "99 0 * * *" is not a cron line: Invalid value for minute: 99'],
    ['day', 'Mars/Olympus', 'there is no time zone "Mars/Olympus"'],
  ])('refuses %s in %s', (typed, timezone, message) => expect(refusal(typed, timezone)).toBe(message))

  it.each(['', 'fortnight', '* * * *', '0 0 * * * *', '2027-01-01T00:00:00'])(
    'refuses "%s" and says what it takes',
    (typed) =>
      expect(refusal(typed)).toMatch(/^--every takes hour, day, week, month, year, or the five fields of a cron line/),
  )

  it('may wait for a leap day', () => {
    expect(moments('0 0 29 2 *', 'UTC', '2097-01-01T00:00Z', 1)).toEqual(['2104-02-29T00:00'])
  })
})
