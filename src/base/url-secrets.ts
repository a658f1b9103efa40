/** Parameters that let whoever has the URL in as somebody, by their whole names. */
const EXACT =
  /^(?:key|sig|code|session|sess|sid|phpsessid|jsessionid|auth|authorization|pass|pwd|passwd|otp|ticket|credentials?)$/i
/** The same by how they end: `access_token`, `csrfToken`, `client_secret`, `AWSAccessKeyId`. */
const ENDING =
  /(?:token|(?:api|auth)key|[._-]key|access[._-]?key(?:[._-]?id)?|secret|signature|password|jwt|session[._-]?id)$/i
/** What clouds sign URLs with (S3, Google, Alibaba, Azure has `sig`). */
const SIGNING = /^x-(?:amz|goog|oss)-/i
const MASK = '***'
/** Who is logged in, before the host. */
const USER_INFO = /(\/\/)[^/?#\s"<>@]*(?:@[^/?#\s"<>@]*)*@/g
/** A parameter in the query, in the fragment, or behind a semicolon of a path. Longer names are none. */
const PARAMETER = /([?&#;])([^=&#;?/\s"<>]{1,80})=([^&#;\s"<>]*)/g
const IN_TEXT = /\b[a-z][a-z\d+.-]{1,20}:\/\/[^\s"<>]+/gi
/** URLs within a parameter of a URL: this deep. */
const DEPTH = 2

/**
 * A URL, or a text with URLs, without what lets somebody in: a user's name and password, and the values of parameters
 * that are tokens, keys, signatures and the like. For logs and progress; what is archived keeps its URL.
 */
export function withoutUrlSecrets(text: string): string {
  return text.includes('://') ? text.replace(IN_TEXT, (url) => masked(url, DEPTH)) : text
}

/** Does a URL have any such thing? Whoever gets it is let in. */
export function hasUrlSecrets(url: string): boolean {
  return masked(url, DEPTH) !== url
}

function masked(url: string, depth: number): string {
  return url
    .replace(USER_INFO, `$1${MASK}@`)
    .replace(PARAMETER, (whole, before: string, name: string, value: string) => {
      if (value === '' || value === MASK) return whole
      const isInner = depth > 0 && /%3a|%2f|:\/\//i.test(value)
      const inner = isInner ? decoded(value) : ''
      const isSecret = isSecretParameter(decoded(name).replace(/\[\w*\]$/, '')) || masked(inner, depth - 1) !== inner
      return isSecret ? `${before}${name}=${MASK}` : whole
    })
}

const isSecretParameter = (name: string) => EXACT.test(name) || ENDING.test(name) || SIGNING.test(name)

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
