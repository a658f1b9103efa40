import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** The Node that the repository pins. */
export const NODE = join(ROOT, 'node_modules', 'node', 'bin', 'node')
/** The program under test: the build of this checkout, or the `dist/main.js` of another installation. */
export const PROGRAM = process.env['ARCHIVEBOX_TS_PROGRAM'] ?? join(ROOT, 'dist', 'main.js')

export interface Call {
  readonly env?: Readonly<Record<string, string>>
  /** The content of stdin; empty when not given. Null: empty, but it stays open, like a terminal. */
  readonly input?: string | null
  readonly cwd?: string
  readonly uid?: number
  /** A command that runs the program: `unshare --pid --fork`, a shell loop. */
  readonly under?: readonly string[]
  /** Ends the program and fails when it takes longer. */
  readonly deadlineMs?: number
}

export interface Finished {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** This limit is for programs that never end: on an overloaded machine a start takes seconds. */
const DEADLINE_MS = 120_000
const PATIENCE_MS = 60_000

/** The plugins that need a browser, or depend on one for most of their output. */
const CAPTURES =
  'chrome dom screenshot pdf mhtml singlefile consolelog redirects accessibility warc wacz responses'.split(' ')
/** Tests that are not about captures use no browser, which takes seconds to start. */
export const WITHOUT_BROWSER: Readonly<Record<string, string>> = Object.fromEntries(
  CAPTURES.map((plugin) => [`${plugin.toUpperCase()}_ENABLED`, 'False']),
)
/** The environment of a test of captures. */
export const WITH_BROWSER: Readonly<Record<string, string>> = Object.fromEntries(
  CAPTURES.map((plugin) => [`${plugin.toUpperCase()}_ENABLED`, 'True']),
)
/** Hooks of tests write traces into data dirs that belong to the user who runs the tests. */
export const AS_OURSELVES: Readonly<Record<string, string>> = process.getuid?.() === 0 ? { HOOK_USER: 'root' } : {}
const LOOK_MS = 15

/** A small, known environment, without any of the developer's own settings. */
export function environmentWith(env: Call['env']): Readonly<Record<string, string | undefined>> {
  const standard = { PATH: process.env['PATH'], HOME: process.env['HOME'], NO_COLOR: '1', LOG_LEVEL: 'info' }
  return { ...standard, ...AS_OURSELVES, ...WITHOUT_BROWSER, ...env }
}

/** Starts the program with such an environment. */
export function start(args: readonly string[], call: Call = {}): Running {
  const env = environmentWith(call.env)
  const identity = call.uid === undefined ? {} : { uid: call.uid, gid: call.uid }
  // A separate session, as a shell would create it, so that signals reach only the processes that a test chooses.
  const [command = NODE, ...words] = [...(call.under ?? []), NODE, PROGRAM, ...args]
  const child = spawn(command, words, { env, cwd: call.cwd ?? ROOT, detached: true, stdio: 'pipe', ...identity })
  child.stdin?.on('error', () => {}) // It may exit without reading.
  if (call.input !== null) child.stdin?.end(call.input ?? '')
  return new Running(child, args)
}

/** Runs the program to its end. */
export async function program(args: readonly string[], call: Call = {}): Promise<Finished> {
  const running = start(args, call)
  return await running.finished(call.deadlineMs ?? DEADLINE_MS)
}

/**
 * Waits for the last output of an exited child, which may arrive a turn of the event loop after the news of its exit.
 */
export async function allIsRead(): Promise<void> {
  await turn()
  await turn()
}

/** A started program: its output so far, signals, and its exit. */
export class Running {
  stdout = ''
  stderr = ''
  readonly pid: number
  readonly args: readonly string[]
  readonly #child: ChildProcess
  readonly #closed: Promise<Finished>
  #over = false

  constructor(child: ChildProcess, args: readonly string[]) {
    this.#child = child
    this.args = args
    this.pid = child.pid ?? -1
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
    })
    // `exit`, not `close`: its children may keep its stderr open, which does not mean that it still runs.
    this.#closed = new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', async (code, signal) => {
        await allIsRead()
        this.#over = true
        resolve({ code, signal, stdout: this.stdout, stderr: this.stderr })
      })
    })
  }

  get isOver(): boolean {
    return this.#over
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Waits for its exit; kills it and throws, with its output, when that takes longer than `ms`. */
  async finished(ms = DEADLINE_MS): Promise<Finished> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        this.#child.kill('SIGKILL')
        reject(new Error(`${this.args.join(' ')}: not finished after ${ms} ms\n${this.stdout}${this.stderr}`))
      }, ms)
    })
    try {
      return await Promise.race([this.#closed, late])
    } finally {
      clearTimeout(timer)
    }
  }

  /** Waits until stderr matches; throws when it has exited, or when `ms` are over. */
  async says(pattern: RegExp, ms = PATIENCE_MS): Promise<void> {
    await eventually(() => {
      if (pattern.test(this.stderr)) return true
      if (this.#over)
        throw new Error(`${this.args.join(' ')} ended without saying ${pattern}\n${this.stdout}${this.stderr}`)
      return false
    }, ms)
  }
}

/** Polls until `look` returns something truthy. @returns that. Throws at the deadline, with the last result. */
export async function eventually<T>(look: () => T | Promise<T>, ms = PATIENCE_MS): Promise<NonNullable<T>> {
  const end = performance.now() + ms
  for (;;) {
    const answer = await look()
    if (answer) return answer
    if (performance.now() > end)
      throw new Error(`not within ${ms} ms: ${look.toString().replace(/\s+/g, ' ').slice(0, 300)}`)
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}
