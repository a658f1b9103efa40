/** A day: even if a server wants more, it is asked again after this. */
const LONGEST_S = 86_400

/**
 * The seconds until a server wants to be asked again (RFC 9110: seconds, or a date); undefined when it does not say.
 */
export function retryAfterSeconds(header: string | undefined, now = Date.now()): number | undefined {
  const text = header?.trim() ?? ''
  // Date.parse also takes any number for a date.
  const at = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN
  const seconds = /^\d+$/.test(text) ? Number(text) : (at - now) / 1000
  return Number.isFinite(seconds) ? Math.min(Math.max(0, Math.ceil(seconds)), LONGEST_S) : undefined
}
