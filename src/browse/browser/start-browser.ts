import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { Texts } from '../../base/config.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { unsandboxedBy } from '../../base/sandbox.ts'
import { FRUGAL_ENV } from '../../base/start/frugal.ts'
import type { Browser } from './packaged.ts'
import { Relay } from './relay.ts'
import { memoryArguments } from './shared-memory.ts'

const START_MS = 30_000
const LAST_WORDS = 16_000
const LAST_WORDS_MS = 500
/** Matches the messages of a browser on a machine that does not allow its sandbox. */
const NO_SANDBOX = /sandbox|clone\(\)|namespace/i

/** The variables that limit the launcher's memory would limit a browser and all of its processes, too. */
const NOT_FRUGAL = Object.fromEntries(Object.keys(FRUGAL_ENV).map((name) => [name, undefined]))

/** How to start a browser. */
export interface BrowserStart {
  readonly browser: Browser
  /** Its working directory. */
  readonly folder: string
  readonly profile: string
  /** A folder with a short path, for this account alone: for our socket and the browser's. */
  readonly short: string
  readonly settings: Texts
  readonly env: Texts
  readonly args: readonly string[]
  /** Whether a Ctrl-C in the terminal does not reach it. */
  readonly isApart?: boolean
}

/** A running browser. */
export interface RunningBrowser {
  /** The connection to it. */
  readonly relay: Relay
  readonly process: ChildProcess
  /** Resolves with its last output when it has ended. */
  readonly ended: Promise<string>
  /** `127.0.0.1:PORT`, where other DevTools clients find it; undefined: it ended before it printed this. */
  readonly address: Promise<string | undefined>
  /** Whether it needs /dev/shm. */
  readonly sharesMemory: boolean
  /** Why it runs without its sandbox; undefined: it has one. */
  readonly unsandboxed?: string | undefined
}

/**
 * Starts a browser, and waits until it answers. It ends with this process, however that exits, because its pipe breaks.
 * It has its sandbox if the settings and the machine allow that. Throws AppError with the browser's own message when it
 * does not start within 30 s.
 */
export async function startBrowser(how: BrowserStart): Promise<RunningBrowser> {
  const why = unsandboxedBy(how.settings)
  if (why !== undefined) return await start(how, why)
  try {
    return await start(how)
  } catch (error) {
    if (!NO_SANDBOX.test(messageOf(error))) throw error
    return await start(how, 'this machine allows no user namespaces')
  }
}

async function start(how: BrowserStart, unsandboxed?: string): Promise<RunningBrowser> {
  const { browser, folder, profile, short, env, args, isApart = false } = how
  const temp = join(short, 'tmp')
  rmSync(temp, { recursive: true, force: true, maxRetries: 5 }) // Left by a browser that was killed.
  mkdirSync(temp)
  mkdirSync(folder, { recursive: true })
  const memory = memoryArguments()
  const all = [
    ...['--remote-debugging-pipe', '--no-first-run', '--no-default-browser-check', `--user-data-dir=${profile}`],
    ...(unsandboxed === undefined ? [] : ['--no-sandbox']),
    ...memory,
    ...args,
  ]
  const child = spawn(browser.program, all, {
    cwd: folder,
    env: { ...env, ...NOT_FRUGAL, ...browser.env, TMPDIR: temp, HOME: env['HOME'] ?? folder },
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
    detached: isApart,
  })
  let words = ''
  const ended = new Promise<string>((resolve) => {
    const end = () => resolve(words.trim())
    child.once('error', (error) => resolve(messageOf(error)))
    // Its children may be frozen, and keep its stderr open.
    child.once('close', end).once('exit', () => setTimeout(end, LAST_WORDS_MS))
  })
  const address = Promise.withResolvers<string | undefined>()
  child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
    words = (words + piece).slice(-LAST_WORDS)
    const found = /DevTools listening on ws:\/\/([^/]+)/.exec(words)?.[1]
    if (found !== undefined) address.resolve(found)
  })
  const [, , , toBrowser, fromBrowser] = child.stdio
  const pipe = { toBrowser: toBrowser as Writable, fromBrowser: fromBrowser as Readable }
  const relay = await Relay.open(pipe, short).catch((error: unknown) => {
    child.kill('SIGKILL') // Another attempt would otherwise run two.
    throw error
  })
  void ended.then(() => {
    relay.close()
    address.resolve(undefined)
  })
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), START_MS)
  })
  const answers = await Promise.race([relay.answer().then(() => true), ended.then(() => false), late])
  clearTimeout(timer)
  if (answers)
    return { relay, process: child, ended, address: address.promise, sharesMemory: memory.length === 0, unsandboxed }
  child.kill('SIGKILL')
  throw new AppError(`the browser did not start: ${lastWords(await ended)} (${browser.program})`)
}

/** The most informative line of a browser's output, without its timestamp: why it exited, else the last error. */
function lastWords(words: string): string {
  const lines = words.split('\n').filter(Boolean)
  const last = (words: RegExp) => lines.findLast((line) => words.test(line))
  // Its crash handler and orphans report errors of their own.
  const error = last(/FATAL/) ?? last(/ERROR|error while loading/) ?? lines.at(-1)
  return error?.replace(/^\[[^\]]*\]\s*/, '') ?? 'it printed nothing'
}
