import { once } from 'node:events'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../../base/errors.ts'
import type { Persona } from '../../base/persona/persona.ts'
import { many } from '../format.ts'
import { Interrupts } from '../interrupts.ts'
import { pageUrl } from '../page-url.ts'
import { hasDisplay, type OwnBrowser, startBrowser } from '../persona/browser.ts'
import { type BrowserLogins, loginsOf, setCookies } from '../persona/browser-logins.ts'
import { personaEnvironment } from '../persona/environment.ts'
import { findOrMake, personasOf } from '../persona/find.ts'
import { saveLogins } from '../persona/save.ts'
import type { Asked } from '../settings.ts'
import { terminal } from '../terminal.ts'

/** Who closes the window takes the browser with it: what it holds is looked up so often. */
const LOOK_MS = 500
const LOAD_MS = 15_000

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
  const isShown = !remote && hasDisplay(env)
  const interrupts = new Interrupts()
  const browser = await startBrowser(env, persona.files.profile, isShown)
  try {
    await setCookies(browser.cdp, persona.cookies)
    await open(browser, url)
    sayHow(browser, isShown)
    keep(persona, await watched(browser, interrupts.signal))
  } finally {
    await browser.close()
    process.stdin.pause()
    interrupts.end()
  }
  terminal.say(`archivebox-ts persona test ${name} URL checks a page; add --persona ${name} archives with it`)
}

async function open({ cdp }: OwnBrowser, url: string): Promise<void> {
  const { targetInfos } = await cdp.send('Target.getTargets')
  const page = targetInfos.find(({ type }) => type === 'page')
  const targetId = page?.targetId ?? (await cdp.send('Target.createTarget', { url: 'about:blank' })).targetId
  const { sessionId } = await cdp.send('Target.attachToTarget', { targetId, flatten: true })
  const session = cdp.session(sessionId)
  await session.send('Page.enable')
  const loaded = new Promise<void>((resolve) => session.on('Page.loadEventFired', () => resolve()))
  const { errorText } = await session.send('Page.navigate', { url })
  if (errorText !== undefined) throw new AppError(`${url}: ${errorText.replace('net::ERR_', '').toLowerCase()}`)
  await Promise.race([loaded, sleep(LOAD_MS, undefined, { ref: false })])
}

function sayHow({ endpoint }: OwnBrowser, isShown: boolean): void {
  if (!isShown) {
    const { host, port } = new URL(endpoint)
    terminal.say('no window can be shown here: the browser waits for the DevTools of another one')
    terminal.say(`  1. on your machine: ssh -N -L ${port}:${host} ${hostname()}`)
    terminal.say(`  2. in its Chrome or Chromium: chrome://inspect, "Configure...", localhost:${port}, "inspect"`)
    terminal.say('until then, other accounts of this machine can reach that port, too')
  }
  terminal.say(
    `log in${isShown ? ' in the window' : ''}; then press Enter here${isShown ? ', or close the window' : ''}`,
  )
}

/** What the browser held when the person was done. */
async function watched(browser: OwnBrowser, interrupted: AbortSignal): Promise<BrowserLogins> {
  const sessions = new Map<string, string>()
  let isDone = false
  const input = process.stdin.resume()
  const done = [once(input, 'data'), once(input, 'end'), browser.ended, once(interrupted, 'abort')].map((end) =>
    end.then(
      () => true,
      () => true,
    ),
  )
  const over = Promise.race(done).then(() => {
    isDone = true
  })
  let last: BrowserLogins | undefined
  do {
    await Promise.race([over, sleep(LOOK_MS, undefined, { ref: false })])
    // A browser that is gone has nothing more to say.
    last = await loginsOf(browser.cdp, sessions).catch(() => last)
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
