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
 * The runner of a command that follows a crawl: a process of its own, for this crawl only, which ends with the command.
 * A newer runner may take over without ending the command.
 */
export class OwnRunner implements FollowersRunner {
  /** The ids of the rows of the crawl and the command: a runner that starts before they are written knows them. */
  readonly crawlId = uuidv7()
  readonly commandId = uuidv7()
  readonly news = new Bell()
  readonly #options: GlobalOptions
  readonly #dataDir: string
  /** A runner that was started ahead, and waits for its cue. */
  #ahead: ChildProcess | undefined
  #child: ChildProcess | undefined
  /** Aborts when the working runner has exited. */
  gone: AbortSignal | undefined

  constructor(options: GlobalOptions) {
    this.#options = options
    this.#dataDir = resolve(options.dataDir)
  }

  get isAlive(): boolean {
    return this.#child !== undefined && isThere(this.#child)
  }

  /** Starts a runner ahead of time: it loads while we open the database and write the crawl. */
  startAhead(): void {
    this.#ahead = this.#spawn()
  }

  /** The database is ready: a runner that was started ahead opens it, too. */
  mayOpen(): void {
    if (this.#ahead) tellRun(this.#ahead, 'open')
  }

  /** Lets the runner work, and restarts it when it has exited. Throws AppError when it failed the last time. */
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

  /** Ends a runner that was started ahead and is not needed. */
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
    // The channel tells it when we end, however that happens: it is orphaned then, and drains. Its output goes above
    // the live lines.
    const stderr = terminal.isLive && !json ? 'pipe' : 'inherit'
    const child = spawnRun(this.#options, this.commandId, args, stderr)
    if (child.stderr) createInterface(child.stderr).on('line', (line) => terminal.say(line))
    return child
  }
}

const isThere = ({ exitCode, signalCode }: ChildProcess) => exitCode === null && signalCode === null
