/** A moment as the clocks of a time zone show it: `2026-11-23 04:00`. */
export function inZone(moment: Date, timezone: string): string {
  return new Intl.DateTimeFormat('sv-SE', { timeZone: timezone, dateStyle: 'short', timeStyle: 'short' }).format(moment)
}
