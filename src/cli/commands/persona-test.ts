import { findPersona } from '../../app/personas/find.ts'
import { AppError, EXIT } from '../../base/errors.ts'
import { isExpired, isForHost } from '../../base/persona/cookie.ts'
import { headersFor } from '../../base/persona/headers.ts'
import type { Persona } from '../../base/persona/persona.ts'
import { many } from '../format.ts'
import { pageUrl } from '../page-url.ts'
import { personaEnvironment } from '../persona/environment.ts'
import { personasOf } from '../persona/find.ts'
import { type Seen, visitAs } from '../persona/visit.ts'
import { onStdout } from '../screen/palette.ts'
import type { Asked } from '../settings.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'

/** `persona test NAME URL`: does the page know this persona? Exit code 1 when it asks for a login. */
export async function personaTest(asked: Asked, name: string, given: string): Promise<number> {
  const url = pageUrl(given)
  const { personas } = personasOf(asked)
  const persona = await findPersona(personas, name)
  const seen = await visitAs(personaEnvironment(asked, persona), url, (line) => terminal.say(line))
  const why = whyNot(seen, url)
  const isLoggedIn = why === undefined
  const sent = sentTo(persona, new URL(url))
  if (wantsJson(asked)) {
    const { url: finalUrl, ...how } = seen
    const test = { type: 'PersonaTest', persona: name, url, final_url: finalUrl, logged_in: isLoggedIn }
    printRecord({ ...test, cause: why ?? null, ...how, ...sent })
  } else {
    const verdict = isLoggedIn ? onStdout.green('logged in:') : onStdout.red('not logged in:')
    process.stdout.write(`${verdict} ${why ?? 'the page has no password field'}\n`)
  }
  terminal.say(`asked by ${seen.by === 'browser' ? 'the browser' : 'HTTP, for want of a browser'}: ${seen.url}`)
  sayCookies(name, sent, new URL(url).hostname)
  if (isLoggedIn) return EXIT.ok
  terminal.say(`archivebox-ts persona login ${name} ${url} logs in again`)
  return EXIT.failed
}

/** A page that is about logging in, by its path. */
const LOGIN_PAGE = /\/(?:[\w-]*log-?in|sign-?in|auth|sso|session\/new)\b/i

/** Why the page does not know the persona; undefined: it does. Throws AppError when the answer says nothing of that. */
function whyNot(seen: Seen, asked: string): string | undefined {
  const { url, http_status: status } = seen
  if (status === 401 || status === 403) return `HTTP ${status}`
  if (status !== null && status >= 400) throw new AppError(`this page says nothing of a login: HTTP ${status} (${url})`)
  if (seen.has_password_field) return 'the page asks for a password'
  const { host, pathname } = new URL(url)
  const wasLogin = LOGIN_PAGE.test(new URL(asked).pathname)
  return !wasLogin && LOGIN_PAGE.test(pathname) ? `the page leads to ${host}${pathname}` : undefined
}

/** What goes along with the request, by name. */
function sentTo({ cookies, headers }: Persona, url: URL) {
  const own = cookies.filter((cookie) => isForHost(cookie, url.hostname))
  const names = (expired: boolean) => own.flatMap((cookie) => (isExpired(cookie) === expired ? cookie.name : []))
  return { cookies: names(false), expired: names(true), headers: Object.keys(headersFor(headers, url)) }
}

function sayCookies(name: string, { cookies, expired, headers }: ReturnType<typeof sentTo>, host: string): void {
  const has = expired.length === 1 ? 'has' : 'have'
  if (expired.length > 0)
    terminal.say(`${many(expired.length, 'cookie')} for ${host} ${has} expired: ${expired.join(', ')}`)
  if (cookies.length + headers.length === 0) terminal.say(`${name} has no good cookie and no header for ${host}`)
}
