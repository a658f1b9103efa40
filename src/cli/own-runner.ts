import type { ChildProcess } from 'node:child_process'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { FollowersRunner } from '../app/follow/follow.ts'
import { Bell } from '../base/abort.ts'
import { AppError } from '../base/errors.ts'
import { uuidv7 } from '../base/ids.ts'
import { tellRun } from './cues.ts'
import { runnerLog } from './home.ts'
import type { GlobalOptions } from './options.ts'
import { spawnRun } from './spawn-run.ts'
import { terminal } from './terminal.ts'

/**
 * The runner of a command that follows a crawl: a process of its own, for this crawl only, and for as long as we live.
 * A newer runner may take over without ending us.
 */
export class OwnRunner implements FollowersRunner {
  /** The rows of the crawl and of the command to be: a runner that starts ahead of them knows their ids. */
  readonly crawlId = uuidv7()
  readonly commandId = uuidv7()
  readonly news = new Bell()
  readonly #options: GlobalOptions
  readonly #dataDir: string
  /** Started, and waits for us to say what is there. */
  #ahead: ChildProcess | undefined
  #child: ChildProcess | undefined
  /** Aborts when the one that works has left. */
  gone: AbortSignal | undefined

  constructor(options: GlobalOptions) {
    this.#options = options
    this.#dataDir = resolve(options.dataDir)
  }

  get isAlive(): boolean {
    return this.#child !== undefined && isThere(this.#child)
  }

  /** Starts it ahead of time: it loads while we open the database and write the crawl. */
  startAhead(): void {
    this.#ahead = this.#spawn()
  }

  /** The database is there: one that was started ahead opens it, too. */
  mayOpen(): void {
    if (this.#ahead) tellRun(this.#ahead, 'open')
  }

  /** Has it work, and starts it again when it left. Throws AppError when it failed the last time. */
  start(): void {
    const { exitCode, signalCode } = this.#child ?? {}
    if (exitCode || signalCode)
      throw new AppError(`the runner ended with ${signalCode ?? `exit code ${exitCode}`}`, {
        hint: `see ${runnerLog(this.#dataDir)}`,
      })
    const ready = this.#ahead && isThere(this.#ahead) ? this.#ahead : undefined
    const child = ready ?? this.#spawn()
    this.#ahead = undefined
    if (!ready) tellRun(child, 'open')
    tellRun(child, 'work')
    const gone = new AbortController()
    this.gone = gone.signal
    this.#child = child.on('message', () => this.news.wake())
    child.on('exit', () => {
      gone.abort()
      this.news.wake()
    })
  }

  /** Has one leave that was started ahead and is not needed. */
  dismiss(): void {
    if (this.#ahead?.connected) this.#ahead.disconnect()
    this.#ahead = undefined
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  #spawn(): ChildProcess {
    const { verbose, json } = this.#options
    const args = ['--crawl-id', this.crawlId, '--exit-on-idle', '--daemon', verbose ? '-v' : '-q']
    // By the channel it hears of our end, however that comes about: then it is nobody's, and drains. What it says goes
    // above what we draw.
    const stderr = terminal.isLive && !json ? 'pipe' : 'inherit'
    const child = spawnRun(this.#options, this.commandId, args, stderr)
    if (child.stderr) createInterface(child.stderr).on('line', (line) => terminal.say(line))
    return child
  }
}

const isThere = ({ exitCode, signalCode }: ChildProcess) => exitCode === null && signalCode === null
