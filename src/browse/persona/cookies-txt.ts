import { UsageError } from '../../base/errors.ts'
import { CONTROL, type Cookie, sameSiteOf } from './cookie.ts'

const HEADER = `# Netscape HTTP Cookie File
# The cookies of a persona of archivebox-ts: whoever has them is logged in. One cookie a line, fields between tabs:
# domain, for hosts below it, path, secure, time of expiry (seconds since 1970; 0: session cookie), name, value.
# What this format has no field for stands in the line above its cookie.
`
const HTTP_ONLY = '#HttpOnly_'

/**
 * Parses cookies in Netscape format, as written by curl, wget, yt-dlp and browser extensions. HttpOnly is `#HttpOnly_`
 * before the domain, as with curl, or in the comment above: `# HttpOnly, SameSite=Lax`. Throws UsageError that names
 * the file and the line, but no value.
 */
export function parseCookiesTxt(text: string, file: string): Cookie[] {
  const cookies: Cookie[] = []
  let about = ''
  for (const [at, line] of text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .entries()) {
    const isMarked = line.startsWith(HTTP_ONLY)
    if (line.trim() === '' || (line.startsWith('#') && !isMarked)) {
      about = line
      continue
    }
    const fields = (isMarked ? line.slice(HTTP_ONLY.length) : line).split('\t')
    const [host = '', below, path = '', secure, expiry = '', name, value = ''] = fields
    // Some programs cut off the tab before an empty value.
    if (name === undefined || fields.length > 7)
      throw new UsageError(
        `${file}, line ${at + 1}: a cookie has 7 fields between tabs, this line has ${fields.length}`,
        'browser extensions export such a file; persona login needs none',
      )
    const expires = Number(expiry)
    if (Number.isNaN(expires) || host === '')
      throw new UsageError(`${file}, line ${at + 1}: ${host === '' ? 'no domain' : 'the expiry time is not a number'}`)
    if (CONTROL.test(host + path + name + value))
      throw new UsageError(`${file}, line ${at + 1}: a cookie must not contain control characters`)
    const domain = host.replace(/^\./, '').toLowerCase()
    cookies.push({
      ...{ name, value, domain, path: path || '/', hostOnly: !isTrue(below), secure: isTrue(secure) },
      httpOnly: isMarked || /^#.*\bHttpOnly\b/i.test(about),
      expires: expires > 0 ? expires : undefined,
      sameSite: sameSiteOf(/^#.*\bSameSite=(\w+)/i.exec(about)?.[1] ?? ''),
    })
    about = ''
  }
  return cookies
}

const isTrue = (field: string | undefined) => field?.trim().toUpperCase() === 'TRUE'

/** The reverse: lines that each of these programs understands. */
export function formatCookiesTxt(cookies: readonly Cookie[]): string {
  return HEADER + cookies.map(lineOf).join('')
}

function lineOf({ name, value, domain, hostOnly, path, secure, httpOnly, expires = 0, sameSite }: Cookie): string {
  const about = [httpOnly && 'HttpOnly', sameSite !== undefined && `SameSite=${sameSite}`].filter(Boolean).join(', ')
  const flag = (is: boolean) => (is ? 'TRUE' : 'FALSE')
  const fields = [
    hostOnly ? domain : `.${domain}`,
    flag(!hostOnly),
    path,
    flag(secure),
    Math.floor(expires),
    name,
    value,
  ]
  return `${about && `# ${about}\n`}${fields.join('\t')}\n`
}
