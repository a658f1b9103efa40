import { once } from 'node:events'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../../base/errors.ts'
import { type Cookie, merged } from '../../base/persona/cookie.ts'
import { type Persona, readPersona } from '../../base/persona/persona.ts'
import { mergedStorage } from '../../base/persona/storage.ts'
import { many } from '../format.ts'
import { Interrupts } from '../interrupts.ts'
import { pageUrl } from '../page-url.ts'
import { hasDisplay, type OwnBrowser, openPage, startBrowser } from '../persona/browser.ts'
import { type BrowserLogins, loginsOf, setCookies } from '../persona/browser-logins.ts'
import { personaEnvironment } from '../persona/environment.ts'
import { findOrMake, personasOf } from '../persona/find.ts'
import { saveLogins } from '../persona/save.ts'
import type { Asked } from '../settings.ts'
import { terminal } from '../terminal.ts'

/** Who closes the window takes the browser with it: what it holds is looked up so often. */
const LOOK_MS = 500

/**
 * `persona login NAME URL`: a person logs in, in a window, or through the DevTools of another browser; cookies and
 * storage are kept when they are done: Enter, the end of stdin, Ctrl-C, or a closed window.
 */
export async function personaLogin(
  asked: Asked,
  name: string,
  given: string,
  { remote = false }: { remote?: boolean },
): Promise<void> {
  const url = pageUrl(given)
  const { personas } = personasOf(asked)
  const persona = await findOrMake(personas, name)
  const env = personaEnvironment(asked, persona)
  const interrupts = new Interrupts()
  const browser = await startBrowser(env, persona.files.profile, !remote && hasDisplay(env))
  try {
    const refused = await setCookies(browser.cdp, persona.cookies)
    await openPage(browser, url, interrupts.signal)
    sayHow(browser)
    const { cookies, origins } = await watched(browser, interrupts.signal)
    // Somebody else may have given it more meanwhile.
    const now = (await readPersona(personas, name).catch(() => undefined)) ?? persona
    const others = [...refused, ...newIn(now.cookies, persona.cookies)]
    keep(now, { cookies: merged(others, cookies), origins })
  } finally {
    await browser.close()
    process.stdin.pause()
    interrupts.end()
  }
  terminal.say(`archivebox-ts persona test ${name} URL checks a page; add --persona ${name} archives with it`)
}

function newIn(cookies: readonly Cookie[], before: readonly Cookie[]): Cookie[] {
  const known = new Set(before.map((cookie) => JSON.stringify(cookie)))
  return cookies.filter((cookie) => !known.has(JSON.stringify(cookie)))
}

function sayHow({ address }: OwnBrowser): void {
  if (address === undefined) {
    terminal.say('log in in the window; then press Enter here, or close the window')
    return
  }
  const port = address.split(':').at(-1)
  terminal.say('no window here: the browser waits for the DevTools of another one')
  terminal.say(`  1. on your machine: ssh -N -L ${port}:${address} ${hostname()}`)
  terminal.say(`  2. in its Chrome or Chromium: chrome://inspect, "Configure...", localhost:${port}, "inspect"`)
  terminal.say('until you are done, other accounts of this machine can reach that port, too')
  terminal.say('log in; then press Enter here')
}

/** What the browser held when the person was done. */
async function watched(browser: OwnBrowser, interrupted: AbortSignal): Promise<BrowserLogins> {
  const sessions = new Map<string, string>()
  let isDone = false
  const input = process.stdin.resume()
  const interrupt = interrupted.aborted ? Promise.resolve() : once(interrupted, 'abort')
  const over = Promise.race([once(input, 'data'), once(input, 'end'), browser.ended, interrupt]).finally(() => {
    isDone = true
  })
  let last: BrowserLogins | undefined
  do {
    await Promise.race([over.catch(() => {}), sleep(LOOK_MS, undefined, { ref: false })])
    // A browser that is gone has nothing more to say.
    last = await loginsOf(browser.cdp, sessions).then(
      ({ cookies, origins }) => ({ cookies, origins: mergedStorage(last?.origins ?? [], origins) }),
      () => last,
    )
  } while (!isDone && browser.cdp.isOpen)
  if (!last) throw new AppError('the browser was closed at once: nothing was kept')
  return last
}

function keep(persona: Persona, { cookies, origins }: BrowserLogins): void {
  saveLogins(persona, cookies, origins)
  const session = cookies.filter(({ expires }) => expires === undefined).length
  const kept = cookies.length === 0 ? 'no site has set a cookie' : `kept ${many(cookies.length, 'cookie')}`
  const parts = [
    kept,
    session > 0 && `${session} of them until the site ends the session`,
    origins.length > 0 && `and the storage of ${origins.map(({ origin }) => origin).join(', ')}`,
  ]
  terminal.say(`${persona.name}: ${parts.filter(Boolean).join(', ')}`)
}
