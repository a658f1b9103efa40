import { checkPage } from '../../app/personas/check-page.ts'
import { findPersona } from '../../app/personas/find.ts'
import { EXIT } from '../../base/errors.ts'
import { many } from '../format.ts'
import { sayMeanwhile } from '../meanwhile.ts'
import { pageUrl } from '../page-url.ts'
import { personasOf } from '../persona/find.ts'
import { onStdout } from '../screen/palette.ts'
import type { Asked } from '../settings.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'

/** `persona test NAME URL`: does the page know this persona? Exit code 1 when it asks for a login. */
export async function personaTest(asked: Asked, name: string, given: string): Promise<number> {
  const url = pageUrl(given)
  const { personas } = personasOf(asked)
  const found = await checkPage(asked, await findPersona(personas, name), url, { tell: sayMeanwhile })
  const { logged_in: isLoggedIn, cause, cookies, expired, headers } = found
  const verdict = isLoggedIn ? onStdout.green('logged in:') : onStdout.red('not logged in:')
  if (wantsJson(asked)) printRecord(found)
  else process.stdout.write(`${verdict} ${cause ?? 'the page has no password field'}\n`)
  terminal.say(`asked by ${found.by === 'browser' ? 'the browser' : 'HTTP, without a browser'}: ${found.final_url}`)
  const { hostname: host } = new URL(url)
  const has = expired.length === 1 ? 'has' : 'have'
  if (expired.length > 0)
    terminal.say(`${many(expired.length, 'cookie')} for ${host} ${has} expired: ${expired.join(', ')}`)
  if (cookies.length + headers.length === 0) terminal.say(`${name} has no valid cookie and no header for ${host}`)
  if (isLoggedIn) return EXIT.ok
  terminal.say(`archivebox-ts persona login ${name} ${url} logs in again`)
  return EXIT.failed
}
