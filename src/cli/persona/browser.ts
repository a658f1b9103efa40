import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { ENVIRONMENT, type Texts } from '../../base/config.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { findProgram } from '../../base/find-program.ts'
import { isForEveryHook } from '../../hooks/environment.ts'
import { Cdp } from '../../plugins/base/browser/cdp.ts'
import { findBrowser, NO_BROWSER_FOUND } from '../../plugins/base/browser/find-browser.ts'
import { languagesIn } from '../../plugins/base/browser/languages.ts'

/** Browsers that can show a window, by their names in PATH. */
const WITH_WINDOW = ['google-chrome', 'google-chrome-stable', 'chromium', 'chromium-browser']
const START_MS = 30_000
const END_MS = 5_000

/** A browser that a person or a command uses for a moment. */
export interface OwnBrowser {
  readonly cdp: Cdp
  /** Where its DevTools protocol is spoken: `ws://127.0.0.1:PORT/...`. */
  readonly endpoint: string
  readonly ended: Promise<void>
  close(): Promise<void>
}

/** Can a window be seen here? */
export function hasDisplay(env: Texts): boolean {
  return process.platform === 'darwin' || Boolean(env['DISPLAY'] || env['WAYLAND_DISPLAY'])
}

/**
 * Starts a browser with this profile. It ends with us, however that happens: its pipe breaks then.
 * @param shown in a window, which the packaged browser does not have; else without one
 * Throws AppError when there is none, or it does not start.
 */
export async function startBrowser(env: Texts, profile: string, shown: boolean): Promise<OwnBrowser> {
  const named = shown && !env['CHROME_BINARY'] ? WITH_WINDOW.find((name) => findProgram(name, env['PATH'])) : undefined
  const browser = await findBrowser(named === undefined ? env : { ...env, CHROME_BINARY: named })
  if (!browser) throw new AppError(NO_BROWSER_FOUND)
  mkdirSync(profile, { recursive: true, mode: 0o700 })
  const { USER_AGENT: agent } = env
  const languages = languagesIn(env['CHROME_LANGUAGE'])
  const args = [
    ...['--remote-debugging-port=0', '--remote-debugging-pipe', `--user-data-dir=${profile}`, '--no-first-run'],
    ...['--no-default-browser-check', '--password-store=basic', '--disable-features=Translate'],
    ...(shown ? [] : ['--headless=new', '--window-size=1280,900', '--disable-gpu', '--mute-audio']),
    // The browser refuses to run with a sandbox as root.
    ...(process.getuid?.() === 0 || env['CHROME_SANDBOX']?.toLowerCase() === 'false' ? ['--no-sandbox'] : []),
    ...(agent ? [`--user-agent=${agent}`] : []),
    ...(languages.length > 0 ? [`--lang=${languages[0]}`, `--accept-lang=${languages.join(',')}`] : []),
    'about:blank',
  ]
  const child = spawn(browser.program, args, {
    env: { ...surroundings(), ...browser.env },
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
    detached: true, // A Ctrl-C on the terminal is for us.
  })
  const ended = new Promise<void>((resolve) => child.once('error', () => resolve()).once('close', () => resolve()))
  let words = ''
  const listening = new Promise<string>((resolve, reject) => {
    const fail = (why: string) => {
      const hint = shown ? { hint: 'without a window: archivebox-ts persona login --remote NAME URL' } : {}
      reject(new AppError(`the browser did not start: ${why} (${browser.program})`, hint))
    }
    child.once('error', (error) => fail(messageOf(error)))
    child.once('exit', () => fail(lastLine(words)))
    child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
      words = (words + piece).slice(-4_000)
      const endpoint = /DevTools listening on (ws:\/\/\S+)/.exec(words)?.[1]
      if (endpoint !== undefined) resolve(endpoint)
    })
    setTimeout(() => fail(`not within ${START_MS / 1000} s`), START_MS).unref()
  })
  try {
    const endpoint = await listening
    const cdp = await Cdp.connect(endpoint)
    const close = async () => {
      await cdp.send('Browser.close').catch(() => {})
      const late = setTimeout(() => child.kill('SIGKILL'), END_MS)
      await ended
      clearTimeout(late)
      cdp.close()
    }
    return { cdp, endpoint, ended, close }
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
}

/** Locale, display and the like; nothing of ours. */
const surroundings = () => Object.fromEntries(Object.entries(ENVIRONMENT).filter(([name]) => isForEveryHook(name, [])))

const lastLine = (words: string) =>
  words
    .trim()
    .split('\n')
    .at(-1)
    ?.replace(/^\[[^\]]*\]\s*/, '') || 'it said nothing'
