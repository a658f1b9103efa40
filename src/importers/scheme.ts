const LABEL = String.raw`[\p{L}\d](?:[\p{L}\d-]*[\p{L}\d])?`
const NAME = String.raw`localhost|(?:${LABEL}\.)+\p{L}[\p{L}\d-]*|\d{1,3}(?:\.\d{1,3}){3}`
const HOST = new RegExp(String.raw`^(?:${NAME})\.?(?::\d{1,5})?(?=[/?#]|$)`, 'u')
/** Most URLs have one, and HOST is slow to compile. */
const HAS_SCHEME = /^https?:/i
/** Hosts without a certificate that browsers trust. */
const PLAIN_HOST = /^(?:localhost|[\d.]+)(?=[:/?#]|$)/

/** Whether this reads as a URL without its scheme: `example.com/page`, `localhost:8000`. */
export function lacksScheme(text: string): boolean {
  return !HAS_SCHEME.test(text) && HOST.test(text)
}

/** A URL as people write it, with the scheme that a browser would add. Other texts are returned as they are. */
export function withScheme(text: string): string {
  const trimmed = text.trim()
  if (!lacksScheme(trimmed)) return trimmed
  return `${PLAIN_HOST.test(trimmed) ? 'http' : 'https'}://${trimmed}`
}

/** Whether a text is a URL of the web and nothing else; its scheme may be missing. */
export const isWebUrl = (text: string): boolean => /^https?:\S+$/i.test(withScheme(text))
