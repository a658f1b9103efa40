// Figures and moments in words, as screens, logs and pages write them.

/** `999 B`, `1.5 MB` */
export function sizeText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  const power = bytes > 0 ? Math.min(Math.floor(Math.log10(bytes) / 3), units.length - 1) : 0
  return `${(bytes / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`
}

/** Seconds in words: `4 s`, `3 min`, `2 h`, `5 days`. */
export function duration(seconds: number): string {
  const value = Math.max(0, seconds)
  if (value < 120) return `${Math.round(value)} s`
  if (value < 7200) return `${Math.round(value / 60)} min`
  if (value < 172_800) return `${Math.round(value / 3600)} h`
  return `${Math.round(value / 86_400)} days`
}

/** How long something took: `0.35 s`, `43 s`, `3.5 min`, `2.1 h` */
export function tookText(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(2)} s`
  if (seconds < 120) return `${seconds.toFixed(0)} s`
  return seconds < 7_200 ? `${(seconds / 60).toFixed(1)} min` : `${(seconds / 3_600).toFixed(1)} h`
}

/** Pages in the unit of time that makes the number readable: `12/s`, `3.4/s`, `20/min`, `5/h`. */
export function rate(perSecond: number): string {
  if (perSecond >= 1) return `${perSecond >= 10 ? Math.round(perSecond) : perSecond.toFixed(1)}/s`
  return perSecond * 60 >= 1 ? `${Math.round(perSecond * 60)}/min` : `${Math.max(1, Math.round(perSecond * 3600))}/h`
}

/** `12,345`. Below a thousand the locale, which is slow, is not asked. */
export const number = (count: number): string => (count < 1_000 ? String(count) : count.toLocaleString('en'))

/** `1 page`, `2 pages` */
export function many(count: number, noun: string): string {
  return `${number(count)} ${noun}${count === 1 ? '' : 's'}`
}

/** `2026-02-03 04:05 UTC`; empty without a date */
export function when(date: Date | null | undefined): string {
  return date ? `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC` : ''
}

/** Is there anything in it that people can see? */
export function isVisible(text: string): boolean {
  // Most text has a visible character of ASCII; the pattern for all others takes V8 half a millisecond to compile.
  return /[!-~]/.test(text) || /[^\p{C}\p{Z}\p{M}\u{2800}\u{3164}]/u.test(text)
}

/** The part that tells an id from others: its end is random, its beginning is a clock. */
export function shortId(id: string): string {
  return id.slice(-8)
}

/** A word quoted for a shell, so that it stands for itself only. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
