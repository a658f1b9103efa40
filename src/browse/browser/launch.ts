import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { Texts } from '../../base/config.ts'
import { flag, list, text } from '../../base/env-settings.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { unsandboxedBy } from '../../base/sandbox.ts'
import { FRUGAL_ENV } from '../../base/start/frugal.ts'
import { languagesIn } from './languages.ts'
import type { Browser } from './packaged.ts'
import { Relay } from './relay.ts'
import { memoryArguments } from './shared-memory.ts'

const START_MS = 30_000
const LAST_WORDS = 16_000
const LAST_WORDS_MS = 500

const FLAGS = [
  '--headless=new',
  '--remote-debugging-pipe', // It ends when we do.
  '--no-first-run',
  '--no-default-browser-check',
  '--log-level=2', // Errors: not what pages say.
  '--hide-scrollbars',
  '--mute-audio',
  '--font-render-hinting=none',
  '--force-color-profile=srgb',
  '--disable-gpu',
  // No window, request, question or file but what a page's visit is about.
  '--block-new-web-contents',
  '--deny-permission-prompts',
  '--disable-background-networking',
  '--disable-breakpad',
  '--disable-client-side-phishing-detection',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-domain-reliability',
  '--disable-extensions',
  '--disable-notifications',
  '--disable-sync',
  '--no-pings',
  // Pages that are not in front work like those that are.
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
]
const FEATURES_OFF = 'Translate,MediaRouter,OptimizationHints,PaintHolding'
/** A page's frames are in one process: it costs one renderer. */
const TOGETHER = [
  '--disable-site-isolation-trials',
  `--disable-features=IsolateOrigins,site-per-process,${FEATURES_OFF}`,
]
/** What a frame of another site is broken into cannot read what a login shows in the page, nor the other way round. */
const APART = ['--site-per-process', `--disable-features=${FEATURES_OFF}`]

/** What the launcher's own memory is kept small by would be there for a browser, and all of its processes, too. */
const NOT_FRUGAL = Object.fromEntries(Object.keys(FRUGAL_ENV).map((name) => [name, undefined]))

/** A browser that runs. */
export interface RunningBrowser {
  /** Through which it is spoken to. */
  readonly relay: Relay
  readonly process: ChildProcess
  /** Resolves when it has ended, with its last words. */
  readonly ended: Promise<string>
  /** It needs /dev/shm. */
  readonly sharesMemory: boolean
  /** Why it runs without its sandbox; undefined: it has one. */
  readonly unsandboxed?: string | undefined
}

/**
 * Starts a browser with a profile in `folder`, and waits until it can be spoken to. With its sandbox where the machine
 * allows that. Throws AppError with the browser's own words when it does not start within 30 s.
 * @param short a folder with a short path, for this account alone: for our socket and the browser's own
 * @param network arguments that say how it connects
 * @param isIsolated each site has a process of its own
 */
export async function launchBrowser(
  browser: Browser,
  folder: string,
  short: string,
  env: Texts,
  network: readonly string[] = [],
  isIsolated = false,
): Promise<RunningBrowser> {
  const about = { network, processes: isIsolated ? APART : TOGETHER }
  return await asSandboxed(env, (why) => start(browser, folder, short, env, about, why))
}

/** In which a browser says that this machine does not allow its sandbox. */
export const NO_SANDBOX = /sandbox|clone\(\)|namespace/i

/**
 * Starts a browser with its sandbox where that may be, and once more without it where the machine does not allow it.
 * @param begin starts it; given why it has no sandbox, without one
 */
export async function asSandboxed<T>(env: Texts, begin: (why?: string) => Promise<T>): Promise<T> {
  const why = unsandboxedBy(env)
  if (why !== undefined) return await begin(why)
  try {
    return await begin()
  } catch (error) {
    if (!NO_SANDBOX.test(messageOf(error))) throw error
    return await begin('this machine allows no user namespaces')
  }
}

async function start(
  browser: Browser,
  folder: string,
  short: string,
  env: Texts,
  { network, processes }: { readonly network: readonly string[]; readonly processes: readonly string[] },
  unsandboxed?: string,
): Promise<RunningBrowser> {
  const temp = join(short, 'tmp')
  rmSync(temp, { recursive: true, force: true, maxRetries: 5 }) // That of a browser that was killed.
  mkdirSync(temp)
  mkdirSync(folder, { recursive: true })
  const [language] = languagesIn(env['CHROME_LANGUAGE'])
  const userAgent = text(env, 'CHROME_USER_AGENT')
  const memory = memoryArguments()
  const args = [
    ...FLAGS,
    ...processes,
    `--user-data-dir=${join(folder, 'profile')}`,
    ...(unsandboxed === undefined ? [] : ['--no-sandbox']),
    ...memory,
    ...(flag(env, 'CHECK_SSL_VALIDITY', true) ? [] : ['--ignore-certificate-errors']),
    ...(language === undefined ? [] : [`--lang=${language}`]),
    // Tabs have it, too, but not what the browser requests by itself.
    ...(userAgent === undefined ? [] : [`--user-agent=${userAgent}`]),
    ...list(env, 'CHROME_ARGS_EXTRA', []),
    ...network,
    '--no-startup-window', // The tab that nobody visits takes 15 MB.
  ]
  const child = spawn(browser.program, args, {
    cwd: folder,
    env: { ...env, ...NOT_FRUGAL, ...browser.env, TMPDIR: temp, HOME: env['HOME'] ?? folder },
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
  })
  let words = ''
  const ended = new Promise<string>((resolve) => {
    const end = () => resolve(words.trim())
    child.once('error', (error) => resolve(messageOf(error)))
    // What it has started may be frozen, and keep its stderr open.
    child.once('close', end).once('exit', () => setTimeout(end, LAST_WORDS_MS))
  })
  child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
    words = (words + piece).slice(-LAST_WORDS)
  })
  const [, , , toBrowser, fromBrowser] = child.stdio
  const pipe = { toBrowser: toBrowser as Writable, fromBrowser: fromBrowser as Readable }
  const relay = await Relay.open(pipe, short).catch((error: unknown) => {
    child.kill('SIGKILL') // Whoever tries again would have two.
    throw error
  })
  void ended.then(() => relay.close())
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), START_MS)
  })
  const answers = await Promise.race([relay.answer().then(() => true), ended.then(() => false), late])
  clearTimeout(timer)
  if (answers) return { relay, process: child, ended, sharesMemory: memory.length === 0, unsandboxed }
  child.kill('SIGKILL')
  throw new AppError(`the browser did not start: ${lastWords(await ended)} (${browser.program})`)
}

/** The line of a browser's output that says most, without its stamp: why it ended itself, else the last error. */
function lastWords(words: string): string {
  const lines = words.split('\n').filter(Boolean)
  const last = (words: RegExp) => lines.findLast((line) => words.test(line))
  // Its crash handler and its orphans have errors of their own.
  const error = last(/FATAL/) ?? last(/ERROR|error while loading/) ?? lines.at(-1)
  return error?.replace(/^\[[^\]]*\]\s*/, '') ?? 'it said nothing'
}
