import { mkdirSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { ENVIRONMENT, type Texts } from '../../base/config.ts'
import { AppError } from '../../base/errors.ts'
import { findProgram } from '../../base/find-program.ts'
import { makeShortFolder, shortFolderOf } from '../../base/short-folder.ts'
import { Cdp } from '../../browse/browser/cdp.ts'
import { findBrowser, NO_BROWSER_FOUND } from '../../browse/browser/find-browser.ts'
import { endBrowser } from '../../browse/browser/guard.ts'
import { hostRules } from '../../browse/browser/host-rules.ts'
import { languagesIn } from '../../browse/browser/languages.ts'
import { explainNavigation } from '../../browse/browser/net-error.ts'
import { type RunningBrowser, startBrowser } from '../../browse/browser/start-browser.ts'
import { AddressFilter } from '../../browse/network/address-filter.ts'
import { isForEveryHook } from '../../hooks/environment.ts'

/** Browsers that can open a window, by their names in PATH. */
const WITH_WINDOW = ['google-chrome', 'google-chrome-stable', 'chromium', 'chromium-browser']
const PORT_MS = 30_000
const END_MS = 5_000
const LOAD_MS = 15_000

/** A browser that a person uses. */
export interface OwnBrowser {
  readonly cdp: Cdp
  /** `127.0.0.1:PORT`, where the DevTools of another browser find a browser without a window. */
  readonly address: string | undefined
  readonly ended: Promise<void>
  close(): Promise<void>
}

/** Whether a window can be seen here. */
export function hasDisplay(env: Texts): boolean {
  return process.platform === 'darwin' || Boolean(env['DISPLAY'] || env['WAYLAND_DISPLAY'])
}

/**
 * Starts a browser with this profile. It ends with us, however that happens.
 * @param shown in a window, which the packaged browser does not have; else without one
 */
export async function openBrowser(settings: Texts, profile: string, shown: boolean): Promise<OwnBrowser> {
  const named =
    shown && !settings['CHROME_BINARY'] ? WITH_WINDOW.find((name) => findProgram(name, settings['PATH'])) : undefined
  const browser = await findBrowser(named === undefined ? settings : { ...settings, CHROME_BINARY: named })
  if (!browser) throw new AppError(NO_BROWSER_FOUND)
  mkdirSync(profile, { recursive: true, mode: 0o700 })
  const short = makeShortFolder(shortFolderOf(profile), "the browser's socket")
  const remove = () => rmSync(short, { recursive: true, force: true, maxRetries: 5 })
  const [args, env] = [argumentsOf(settings, shown), surroundings()]
  const hint = shown ? { hint: 'without a window: archivebox-ts persona login --remote NAME URL' } : {}
  const how = { browser, folder: profile, profile, short, settings, env, args, isApart: true }
  const running = await startBrowser(how).catch((error: unknown) => {
    remove()
    throw error instanceof AppError ? new AppError(error.message, hint) : error
  })
  const ended = running.ended.then(remove)
  try {
    const late = sleep(PORT_MS, undefined, { ref: false })
    const address = shown ? undefined : await Promise.race([running.address, late])
    if (!shown && address === undefined) throw new AppError('the browser did not start: it opened no port')
    const cdp = await Cdp.connect(running.relay.endpoint)
    return { cdp, address, ended, close: () => closed(running, cdp, ended) }
  } catch (error) {
    endBrowser(running)
    throw error
  }
}

async function closed(running: RunningBrowser, cdp: Cdp, ended: Promise<void>): Promise<void> {
  const late = setTimeout(() => endBrowser(running), END_MS)
  cdp.send('Browser.close').catch(() => {}) // One that is frozen does not answer.
  await ended
  clearTimeout(late)
  cdp.close()
}

/**
 * Opens a page in the browser's window, and waits until it has loaded, but at most a quarter of a minute, or until the
 * signal aborts. Throws AppError when nobody answers there.
 */
export async function openPage({ cdp }: OwnBrowser, url: string, signal: AbortSignal): Promise<void> {
  const { targetInfos } = await cdp.send('Target.getTargets')
  const page = targetInfos.find(({ type }) => type === 'page')
  const targetId = page?.targetId ?? (await cdp.send('Target.createTarget', { url: 'about:blank' })).targetId
  const { sessionId } = await cdp.send('Target.attachToTarget', { targetId, flatten: true })
  const session = cdp.session(sessionId)
  await session.send('Page.enable')
  const loaded = new Promise<void>((resolve) => session.on('Page.loadEventFired', () => resolve()))
  const there = session.send('Page.navigate', { url }).then(async ({ errorText }) => {
    if (errorText !== undefined) throw explainNavigation(errorText, url)
    await loaded
  })
  await Promise.race([there, sleep(LOAD_MS, undefined, { ref: false, signal }).catch(() => {})])
}

function argumentsOf(settings: Texts, shown: boolean): string[] {
  const languages = languagesIn(settings['CHROME_LANGUAGE'])
  return [
    ...['--password-store=basic', '--disable-features=Translate'],
    ...(shown ? [] : ['--headless=new', '--remote-debugging-port=0', '--window-size=1280,900', '--disable-gpu']),
    ...(settings['CHROME_USER_AGENT'] ? [`--user-agent=${settings['CHROME_USER_AGENT']}`] : []),
    ...(languages.length > 0 ? [`--lang=${languages[0]}`, `--accept-lang=${languages.join(',')}`] : []),
    ...hostRules(AddressFilter.from(settings), []),
    'about:blank',
  ]
}

/** Locale, display and the like; nothing of ours. */
const surroundings = () => Object.fromEntries(Object.entries(ENVIRONMENT).filter(([name]) => isForEveryHook(name, [])))
