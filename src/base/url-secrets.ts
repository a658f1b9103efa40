import { percentDecoded } from './percent-decoded.ts'

/** Parameters that grant access to whoever has the URL, by their full names. */
const EXACT =
  /^(?:key|sig|code|session|sess|sid|phpsessid|jsessionid|auth|authorization|pass|pwd|passwd|otp|ticket|credentials?)$/i
/** The same by their endings: `access_token`, `csrfToken`, `client_secret`, `AWSAccessKeyId`. */
const ENDING =
  /(?:token|(?:api|auth)key|[._-]key|access[._-]?key(?:[._-]?id)?|secret|signature|password|jwt|session[._-]?id)$/i
/** Parameters that clouds sign URLs with (S3, Google, Alibaba; Azure has `sig`). */
const SIGNING = /^x-(?:amz|goog|oss)-/i
const MASK = '***'
/** A user name and password, before the host. */
const USER_INFO = /(\/\/)[^/?#\s"<>@]*(?:@[^/?#\s"<>@]*)*@/g
/** A parameter in the query, in the fragment, or behind a semicolon of a path. Longer names do not count. */
const PARAMETER = /([?&#;])([^=&#;?/\s"<>]{1,80})=([^&#;\s"<>]*)/g
const IN_TEXT = /\b[a-z][a-z\d+.-]{1,20}:\/\/[^\s"<>]+/gi
/** How deep URLs within parameters of URLs are searched. */
const DEPTH = 2

/**
 * A URL, or a text with URLs, without anything that grants access: user names and passwords, and the values of
 * parameters that are tokens, keys, signatures and the like. For logs and progress; archived data keeps its URL.
 */
export function withoutUrlSecrets(text: string): string {
  return text.includes('://') ? text.replace(IN_TEXT, (url) => masked(url, DEPTH)) : text
}

/** Whether a URL has anything that grants access. */
export function hasUrlSecrets(url: string): boolean {
  return masked(url, DEPTH) !== url
}

function masked(url: string, depth: number): string {
  return url
    .replace(USER_INFO, `$1${MASK}@`)
    .replace(PARAMETER, (whole, before: string, name: string, value: string) => {
      if (value === '' || value === MASK) return whole
      const isInner = depth > 0 && /%3a|%2f|:\/\//i.test(value)
      const inner = isInner ? percentDecoded(value) : ''
      const isSecret =
        isSecretParameter(percentDecoded(name).replace(/\[\w*\]$/, '')) || masked(inner, depth - 1) !== inner
      return isSecret ? `${before}${name}=${MASK}` : whole
    })
}

const isSecretParameter = (name: string) => EXACT.test(name) || ENDING.test(name) || SIGNING.test(name)
