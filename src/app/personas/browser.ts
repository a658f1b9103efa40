import { spawn } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { AddressFilter } from '../../base/address-filter.ts'
import { ENVIRONMENT, type Texts } from '../../base/config.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { findProgram } from '../../base/find-program.ts'
import { makeShortFolder, shortFolderOf } from '../../base/short-folder.ts'
import { isForEveryHook } from '../../hooks/environment.ts'
import { Cdp } from '../../plugins/base/browser/cdp.ts'
import { findBrowser, NO_BROWSER_FOUND } from '../../plugins/base/browser/find-browser.ts'
import { endBrowser } from '../../plugins/base/browser/guard.ts'
import { hostRules } from '../../plugins/base/browser/host-rules.ts'
import { languagesIn } from '../../plugins/base/browser/languages.ts'
import { asSandboxed, NO_SANDBOX } from '../../plugins/base/browser/launch.ts'
import { explainNavigation } from '../../plugins/base/browser/net-error.ts'
import type { Browser } from '../../plugins/base/browser/packaged.ts'
import { Relay } from '../../plugins/base/browser/relay.ts'
import { memoryArguments } from '../../plugins/base/browser/shared-memory.ts'

/** Browsers that can open a window, by their names in PATH. */
const WITH_WINDOW = ['google-chrome', 'google-chrome-stable', 'chromium', 'chromium-browser']
const START_MS = 30_000
const END_MS = 5_000
const LOAD_MS = 15_000
const LAST_WORDS = 4_000

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
 * Starts a browser with this profile. It ends with us, however that happens: its pipe breaks then. Throws AppError when
 * there is none, or it does not start.
 * @param shown in a window, which the packaged browser does not have; else without one
 */
export async function startBrowser(env: Texts, profile: string, shown: boolean): Promise<OwnBrowser> {
  const named = shown && !env['CHROME_BINARY'] ? WITH_WINDOW.find((name) => findProgram(name, env['PATH'])) : undefined
  const browser = await findBrowser(named === undefined ? env : { ...env, CHROME_BINARY: named })
  if (!browser) throw new AppError(NO_BROWSER_FOUND)
  mkdirSync(profile, { recursive: true, mode: 0o700 })
  const args = argumentsOf(env, profile, shown)
  return await asSandboxed(env, (why) =>
    start(browser, why === undefined ? args : ['--no-sandbox', ...args], profile, shown),
  )
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

function argumentsOf(env: Texts, profile: string, shown: boolean): string[] {
  const languages = languagesIn(env['CHROME_LANGUAGE'])
  return [
    ...['--remote-debugging-pipe', `--user-data-dir=${profile}`, '--no-first-run', '--no-default-browser-check'],
    ...['--password-store=basic', '--disable-features=Translate'],
    ...memoryArguments(),
    ...(shown ? [] : ['--headless=new', '--remote-debugging-port=0', '--window-size=1280,900', '--disable-gpu']),
    ...(env['CHROME_USER_AGENT'] ? [`--user-agent=${env['CHROME_USER_AGENT']}`] : []),
    ...(languages.length > 0 ? [`--lang=${languages[0]}`, `--accept-lang=${languages.join(',')}`] : []),
    ...hostRules(AddressFilter.from(env), []),
    'about:blank',
  ]
}

async function start(browser: Browser, args: readonly string[], profile: string, shown: boolean): Promise<OwnBrowser> {
  const sockets = makeShortFolder(shortFolderOf(profile), "the browser's socket")
  const child = spawn(browser.program, args, {
    env: { ...surroundings(), ...browser.env },
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
    detached: true, // A Ctrl-C on the terminal is for us.
  })
  const ended = new Promise<void>((resolve) => child.once('error', () => resolve()).once('close', () => resolve()))
  const [, , , toBrowser, fromBrowser] = child.stdio
  const pipe = { toBrowser: toBrowser as Writable, fromBrowser: fromBrowser as Readable }
  const relay = await Relay.open(pipe, sockets).catch((error: unknown) => {
    child.kill('SIGKILL')
    throw error
  })
  let hasLeft = false
  // Once: later, another one may have been started without a sandbox, whose sockets are there, too.
  const left = () => {
    if (hasLeft) return
    hasLeft = true
    relay.close()
    rmSync(sockets, { recursive: true, force: true })
  }
  void ended.then(left)
  let words = ''
  const address = Promise.withResolvers<string | undefined>()
  const failed = Promise.withResolvers<never>()
  const fail = (why: string) => {
    const hint = shown ? { hint: 'to log in without a window: archivebox-ts persona login --remote NAME URL' } : {}
    failed.reject(new AppError(`the browser did not start: ${why} (${browser.program})`, hint))
  }
  failed.promise.catch(() => {}) // It may end long after its start.
  child.once('error', (error) => fail(messageOf(error))).once('exit', () => fail(tellingLine(words)))
  child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
    words = (words + piece).slice(-LAST_WORDS)
    const found = /DevTools listening on ws:\/\/([^/]+)/.exec(words)?.[1]
    if (found !== undefined) address.resolve(found)
  })
  if (shown) address.resolve(undefined)
  setTimeout(() => fail(`not within ${START_MS / 1000} s`), START_MS).unref()
  try {
    await Promise.race([Promise.all([relay.answer(), address.promise]), failed.promise])
    const cdp = await Cdp.connect(relay.endpoint)
    const close = async () => {
      const late = setTimeout(() => endBrowser({ process: child }), END_MS)
      cdp.send('Browser.close').catch(() => {}) // One that is frozen does not answer.
      await ended
      clearTimeout(late)
      cdp.close()
    }
    return { cdp, address: await address.promise, ended, close }
  } catch (error) {
    child.kill('SIGKILL')
    left()
    throw error
  }
}

/** Locale, display and the like; nothing of ours. */
const surroundings = () => Object.fromEntries(Object.entries(ENVIRONMENT).filter(([name]) => isForEveryHook(name, [])))

/** The line that gives the reason: after a missing sandbox a stack follows. */
function tellingLine(words: string): string {
  const lines = words.trim().split('\n')
  const telling = lines.find((line) => NO_SANDBOX.test(line)) ?? lines.at(-1)
  return telling?.replace(/^\[[^\]]*\]\s*/, '') || 'it printed nothing'
}
