/** A number from here on counts smaller units. Milliseconds above this would be in the year 5138 as seconds. */
const FIRST_MS = 1e11
const FIRST_US = 1e14
/** Chromium counts microseconds from the year 1601. */
const FIRST_CHROMIUM_US = 1e16
const CHROMIUM_EPOCH_MS = Date.UTC(1601, 0, 1)
/** The web is not older. */
const EARLIEST_MS = Date.UTC(1990, 0, 1)
const DAY_MS = 86_400_000

/**
 * A date as exports write it: seconds, milliseconds or microseconds since 1970, Chromium's microseconds since 1601, ISO
 * 8601 or RFC 822; without a time zone it is in UTC. Undefined for anything else, or a date impossible for a bookmark.
 */
export function dateOf(value: unknown): Date | undefined {
  const text = typeof value === 'string' ? value.trim() : value
  const ms =
    typeof text === 'number' || (typeof text === 'string' && /^\d+(?:\.\d+)?$/.test(text))
      ? fromNumber(Number(text))
      : typeof text === 'string'
        ? Date.parse(
            /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?$/.test(text) ? `${text.replace(' ', 'T')}Z` : text,
          )
        : Number.NaN
  return ms >= EARLIEST_MS && ms <= Date.now() + DAY_MS ? new Date(ms) : undefined
}

function fromNumber(value: number): number {
  if (value >= FIRST_CHROMIUM_US) return value / 1_000 + CHROMIUM_EPOCH_MS
  if (value >= FIRST_US) return value / 1_000
  return value >= FIRST_MS ? value : value * 1_000
}
