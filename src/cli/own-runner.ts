import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { AppError } from '../base/errors.ts'
import { asset } from '../base/package-root.ts'
import type { Home } from '../db/home.ts'
import { PARENT_ENV } from './commands/run.ts'
import { runnerLog } from './home.ts'
import type { GlobalOptions } from './options.ts'
import { terminal } from './terminal.ts'

/**
 * The runner of a command that follows a crawl: a process of its own, for this crawl only, and for as long as we live.
 * A newer runner may take over without ending us.
 */
export class OwnRunner {
  readonly #home: Home
  readonly #args: readonly string[]
  readonly #env: NodeJS.ProcessEnv
  readonly #onNews: () => void
  #child: ChildProcess | undefined

  /** @param onNews called when a page ended, and when it is gone */
  constructor(
    home: Home,
    options: GlobalOptions,
    { crawlId, processId, onNews }: { crawlId: string; processId: string; onNews: () => void },
  ) {
    this.#home = home
    this.#onNews = onNews
    this.#args = [
      asset('main.js', 'main.ts'),
      'run',
      ...['--crawl-id', crawlId, '--exit-on-idle', '--daemon'],
      options.verbose ? '-v' : '-q',
      ...(options.json ? ['--json'] : []),
    ]
    // Handed on whole: the runner reads the settings in it itself.
    this.#env = {
      ...process.env,
      DATA_DIR: home.dataDir,
      [PARENT_ENV]: processId,
      ...(options.databaseUrl ? { DATABASE_URL: options.databaseUrl } : {}),
      ...(options.waitDb === undefined ? {} : { WAIT_DB: options.waitDb }),
    }
  }

  get isAlive(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Starts it, or again when it left. Throws AppError when it failed the last time. */
  start(): void {
    const { exitCode, signalCode } = this.#child ?? {}
    if (exitCode || signalCode)
      throw new AppError(`the runner ended with ${signalCode ?? `exit code ${exitCode}`}`, {
        hint: `see ${runnerLog(this.#home.dataDir)}`,
      })
    // By the channel it hears of our end, however that comes about: then it is nobody's, and drains. What it says goes
    // above what we draw.
    const stderr = terminal.isLive ? 'pipe' : 'inherit'
    const child = spawn(process.execPath, this.#args, { env: this.#env, stdio: ['ignore', 'ignore', stderr, 'ipc'] })
    if (child.stderr) createInterface(child.stderr).on('line', (line) => terminal.say(line))
    this.#child = child.on('message', this.#onNews).on('exit', this.#onNews)
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }
}
