import { duration } from '../base/words.ts'

/** How long ago, in the largest unit that fits. */
export function ago(date: Date | null): string {
  if (!date) return '-'
  return duration((Date.now() - date.getTime()) / 1000)
}

/** A table is for reading: it has no more lines than this, unless more are asked for. */
export const TABLE_LINES = 100

/** `1 page`, `2 pages` */
export function many(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
