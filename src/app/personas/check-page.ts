import { AppError } from '../../base/errors.ts'
import { isExpired, isForHost } from '../../browse/persona/cookie.ts'
import { headersFor } from '../../browse/persona/headers.ts'
import type { Persona } from '../../browse/persona/persona.ts'
import type { Configured } from '../archive.ts'
import type { Call } from '../call.ts'
import { personaEnvironment } from './environment.ts'
import { type Seen, visitAs } from './visit.ts'

/** A message about the visit. */
export interface VisitNote {
  readonly event: 'visit note'
  readonly text: string
}

/** Checks whether a page knows this persona. Throws AppError when there is no page, or it does not tell. */
export async function checkPage(
  configured: Configured,
  persona: Persona,
  url: string,
  { tell }: Pick<Call<VisitNote>, 'tell'> = {},
) {
  const seen = await visitAs(personaEnvironment(configured, persona), url, (text) =>
    tell?.({ event: 'visit note', text }),
  )
  const cause = whyNot(seen, url)
  const { url: finalUrl, ...how } = seen
  return {
    type: 'PersonaTest',
    persona: persona.name,
    url,
    final_url: finalUrl,
    logged_in: cause === undefined,
    /** Why it does not know the persona. */
    cause: cause ?? null,
    ...how,
    ...sentTo(persona, new URL(url)),
  } as const
}

/** A login page, by its path. */
const LOGIN_PAGE = /\/(?:[\w-]*log-?in|sign-?in|auth|sso|session\/new)\b/i

/** Why the page does not know the persona; undefined: it does. Throws AppError when the answer does not tell. */
function whyNot(seen: Seen, asked: string): string | undefined {
  const { url, http_status: status } = seen
  if (status === 401 || status === 403) return `HTTP ${status}`
  if (status !== null && status >= 400)
    throw new AppError(`cannot tell whether it is logged in: HTTP ${status} (${url})`)
  if (seen.has_password_field) return 'the page asks for a password'
  const { host, pathname } = new URL(url)
  const wasLogin = LOGIN_PAGE.test(new URL(asked).pathname)
  return !wasLogin && LOGIN_PAGE.test(pathname) ? `the page redirects to ${host}${pathname}` : undefined
}

/** What is sent with the request, by name. */
function sentTo({ cookies, headers }: Persona, url: URL) {
  const own = cookies.filter((cookie) => isForHost(cookie, url.hostname))
  const names = (expired: boolean) => own.flatMap((cookie) => (isExpired(cookie) === expired ? cookie.name : []))
  return { cookies: names(false), expired: names(true), headers: Object.keys(headersFor(headers, url)) }
}
