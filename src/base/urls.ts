import { messageOf } from './errors.ts'

const MAX_URL = 8 * 1024
/** Blanks, and characters that nobody sees but that come along when a URL is copied: of no width, or for direction. */
const UNSEEN = String.raw`[\s\u200b-\u200f\u202a-\u202e\u2060-\u2069]`
const AROUND = new RegExp(`^${UNSEEN}+|(?<!${UNSEEN})${UNSEEN}+$`, 'g')

/**
 * A URL in the one form that is stored and compared: WHATWG-normalised, without fragment. Throws a plain sentence for
 * a URL that cannot be archived.
 */
export function archivableUrl(text: string): string {
  const trimmed = text.replace(AROUND, '')
  if (trimmed.length > MAX_URL) throw new Error(`URL longer than ${MAX_URL} characters: ${trimmed.slice(0, 60)}...`)
  let url: URL
  try {
    url = new URL(trimmed)
  } catch {
    throw new Error(`not a URL: ${trimmed.slice(0, 200)}`)
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new Error(`only http and https can be archived: ${trimmed.slice(0, 200)}`)
  url.hash = ''
  return url.href
}

/** The absolute URL of a link, without its fragment; undefined when it is invalid, empty, or not http(s). */
export function linkOf(text: string, base: string | undefined): string | undefined {
  const url = text === '' ? null : URL.parse(text, base)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return undefined
  url.hash = ''
  return url.href
}

/** The folder name of a URL's host, with its port when it has one. */
export function domainOf(url: string): string {
  const { hostname, port } = new URL(url)
  return (port ? `${hostname}_${port}` : hostname).replace(/[^a-zA-Z0-9.-]|^\.+/g, '_').slice(0, 100) || 'unknown'
}

/**
 * Is this URL inside a crawl's limits? Deny first: any match rejects; then, when there is an allow list, one pattern of
 * it must match. A pattern of only word characters, dots, stars, colons and dashes names a domain and its subdomains
 * (`*.x`: only its subdomains; with `:port`, that port); anything else is a regular expression, and one that does not
 * compile matches nothing. (ArchiveBox's rules.)
 */
export function urlFilter(allow: string, deny: string): (url: string) => boolean {
  const allowed = patterns(allow)
  const denied = patterns(deny)
  return (url) =>
    !denied.some((matches) => matches(url)) && (allowed.length === 0 || allowed.some((matches) => matches(url)))
}

/** The patterns of a list that are expressions and do not compile, each with the reason. */
export function brokenPatterns(list: string): { pattern: string; why: string }[] {
  return split(list).flatMap((pattern) => {
    if (isDomain(pattern)) return []
    try {
      new RegExp(pattern)
      return []
    } catch (error) {
      return [{ pattern, why: messageOf(error).replace(/^Invalid regular expression: /, '') }]
    }
  })
}

function patterns(list: string): ((url: string) => boolean)[] {
  return split(list).map((pattern) =>
    isDomain(pattern) ? domainPattern(pattern.toLowerCase()) : regexPattern(pattern),
  )
}

const split = (list: string) => list.split(/[\n,]/).flatMap((pattern) => pattern.trim() || [])
const isDomain = (pattern: string) => /^[\w.*:-]+$/.test(pattern)

function domainPattern(pattern: string): (url: string) => boolean {
  const [name = '', port] = pattern.split(':')
  const onlyBelow = name.startsWith('*.')
  const domain = onlyBelow ? name.slice(2) : name
  return (text) => {
    const url = new URL(text)
    if (port !== undefined && (url.port || (url.protocol === 'https:' ? '443' : '80')) !== port) return false
    return url.hostname.endsWith(`.${domain}`) || (!onlyBelow && url.hostname === domain)
  }
}

function regexPattern(pattern: string): (url: string) => boolean {
  try {
    const regex = new RegExp(pattern)
    return (url) => regex.test(url)
  } catch {
    return () => false
  }
}
