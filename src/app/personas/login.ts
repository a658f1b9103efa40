import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../../base/errors.ts'
import { type Cookie, merged } from '../../browse/persona/cookie.ts'
import { readPersona } from '../../browse/persona/persona.ts'
import { mergedStorage } from '../../browse/persona/storage.ts'
import type { Configured } from '../archive.ts'
import type { Call } from '../call.ts'
import { hasDisplay, type OwnBrowser, openBrowser, openPage } from './browser.ts'
import { type BrowserLogins, loginsOf, setCookies } from './browser-logins.ts'
import { findOrMake, type PersonaMade } from './change.ts'
import { personaEnvironment } from './environment.ts'
import { saveLogins } from './save.ts'

/** How often logins are read: closing the window ends the browser, and then it is too late. */
const LOOK_MS = 500

export interface LoginInput {
  readonly personas: string
  readonly name: string
  readonly url: string
  /** Without a window here: through the DevTools of a browser elsewhere. */
  readonly isRemote: boolean
  /** Settles when the person is done; a closed window or `signal` does the same. Called when the page is open. */
  readonly done: () => Promise<unknown>
}

/** The browser is open, in a window here or at an address for the DevTools of another one. */
export interface LoginReady {
  readonly event: 'login ready'
  readonly address: string | undefined
}

/** The browser's logins are saved; it is yet to be closed. */
export interface LoginsKept extends BrowserLogins {
  readonly event: 'logins kept'
  readonly persona: string
}

/**
 * A person logs in as a persona, which is created if there is none; cookies and storage are saved when they are done.
 * Throws AppError when no browser starts, or it ends before anything could be read.
 * @returns what was saved
 */
export async function login(
  configured: Configured,
  { personas, name, url, isRemote, done }: LoginInput,
  { signal = new AbortController().signal, tell }: Call<LoginReady | LoginsKept | PersonaMade> = {},
): Promise<BrowserLogins> {
  const persona = await findOrMake(personas, name, tell ? { tell } : {})
  const env = personaEnvironment(configured, persona)
  const browser = await openBrowser(env, persona.files.profile, !isRemote && hasDisplay(env))
  try {
    const refused = await setCookies(browser.cdp, persona.cookies)
    await openPage(browser, url, signal)
    tell?.({ event: 'login ready', address: browser.address })
    const { cookies, origins } = await watched(browser, done(), signal)
    // Somebody else may have added to it meanwhile.
    const now = (await readPersona(personas, name).catch(() => undefined)) ?? persona
    const others = [...refused, ...newIn(now.cookies, persona.cookies)]
    const kept = { cookies: merged(others, cookies), origins }
    saveLogins(now, kept.cookies, origins)
    tell?.({ event: 'logins kept', persona: name, ...kept })
    return kept
  } finally {
    await browser.close()
  }
}

function newIn(cookies: readonly Cookie[], before: readonly Cookie[]): Cookie[] {
  const known = new Set(before.map((cookie) => JSON.stringify(cookie)))
  return cookies.filter((cookie) => !known.has(JSON.stringify(cookie)))
}

/** The browser's logins when the person was done. */
async function watched(browser: OwnBrowser, done: Promise<unknown>, signal: AbortSignal): Promise<BrowserLogins> {
  const sessions = new Map<string, string>()
  let isDone = false
  const unheard = new AbortController()
  const interrupt = new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { signal: unheard.signal })
  })
  const over = Promise.race([done, browser.ended, interrupt]).finally(() => {
    isDone = true
    unheard.abort()
  })
  let last: BrowserLogins | undefined
  do {
    await Promise.race([over.catch(() => {}), sleep(LOOK_MS, undefined, { ref: false })])
    // A browser that is gone has nothing more to tell.
    last = await loginsOf(browser.cdp, sessions).then(
      ({ cookies, origins }) => ({ cookies, origins: mergedStorage(last?.origins ?? [], origins) }),
      () => last,
    )
  } while (!isDone && browser.cdp.isOpen)
  if (!last) throw new AppError('the browser was closed at once: nothing was saved')
  return last
}
