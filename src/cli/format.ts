import { duration } from '../base/words.ts'

/** How long ago, in the largest unit that says something. */
export function ago(date: Date | null): string {
  if (!date) return '-'
  return duration((Date.now() - date.getTime()) / 1000)
}

/** A table is for reading: no more lines than this, unless asked for. */
export const TABLE_LINES = 100

/** Pages that end in a unit of time that makes the number readable: `12/s`, `3.4/s`, `20/min`, `5/h`. */
export function rate(perSecond: number): string {
  if (perSecond >= 1) return `${perSecond >= 10 ? Math.round(perSecond) : perSecond.toFixed(1)}/s`
  return perSecond * 60 >= 1 ? `${Math.round(perSecond * 60)}/min` : `${Math.max(1, Math.round(perSecond * 3600))}/h`
}

/** What tells an id from others, for people: its end is random, its beginning is a clock. */
export function shortId(id: string): string {
  return id.slice(-8)
}

/** `1 page`, `2 pages` */
export function many(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
