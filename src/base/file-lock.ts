import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { AppError } from './errors.ts'

const WAIT_MS = 60_000
/** The longest timer of Node. */
const FOREVER_MS = 2 ** 31 - 1

/**
 * A kernel lock (flock) on a file. Node cannot take one, so util-linux `flock` takes it on a descriptor that we opened:
 * the lock belongs to the open file, not to the helper, and ends when our process does, however it dies. Children do
 * not inherit it (Node opens O_CLOEXEC). Where there is no `flock` (macOS), an exclusive lock is a link with the name
 * of its owner (link-lock.ts), and a shared one waits for that and holds nothing.
 */
export class FileLock {
  readonly #path: string
  /** The open file, for a child that is to hold the lock, too. */
  readonly fd: number
  #closed = false
  #helper: ChildProcess | undefined
  #releaseLink: (() => void) | undefined

  /** Opens (and creates) the lock file; nothing is locked yet. Throws the file-system error. */
  constructor(path: string) {
    this.#path = path
    // Open for writing as well as reading: a network file system wants that for an exclusive lock.
    this.fd = openSync(path, 'a+', 0o600)
  }

  /** Waits until no other process holds it. Throws AppError after a minute, or after `waitMs`. */
  async exclusive(waitMs = WAIT_MS): Promise<void> {
    if (!(await this.exclusiveWithin(waitMs))) throw tooLate(this.#path, waitMs)
  }

  /** Queues until no other process holds it exclusively; false: one did for all of `ms`. */
  async sharedWithin(ms: number): Promise<boolean> {
    const answer = await this.#flock(['-s'], ms)
    if (answer !== 'no flock') return answer === 'locked'
    const { noLinkLock } = await import('./link-lock.ts')
    return await noLinkLock(this.#link, ms)
  }

  /** Queues until no other process holds it; false: one did for all of `ms`. */
  async exclusiveWithin(ms: number): Promise<boolean> {
    const answer = await this.#flock(['-x'], ms)
    return answer === 'no flock' ? await this.#takeLink(ms) : answer === 'locked'
  }

  /** Makes it exclusive if no other process holds it; false: one does (a shared lock of ours may be lost then). */
  async tryExclusive(): Promise<boolean> {
    const answer = await this.#flock(['-n', '-x'])
    return answer === 'no flock' ? await this.#takeLink(0) : answer === 'locked'
  }

  /**
   * Queues without limit: the kernel passes the lock on at the moment it is released; a link is looked at every second.
   * Rejects when released meanwhile.
   */
  async acquire(): Promise<void> {
    await this.exclusive(FOREVER_MS)
  }

  /** Releases the lock, or leaves the queue. May be called twice. */
  release(): void {
    if (this.#closed) return
    this.#closed = true
    // A helper that could not be started has no pid, and Node would signal an arbitrary process.
    if (this.#helper?.pid !== undefined) this.#helper.kill('SIGKILL')
    this.#releaseLink?.()
    closeSync(this.fd)
  }

  get #link(): string {
    return `${this.#path}.owner`
  }

  async #takeLink(ms: number): Promise<boolean> {
    if (this.#releaseLink) return true
    const { takeLinkLock } = await import('./link-lock.ts')
    const release = await takeLinkLock(this.#link, ms, () => this.#closed)
    if (this.#closed) release?.()
    else this.#releaseLink = release
    return this.#releaseLink !== undefined
  }

  #flock(args: string[], waitMs = WAIT_MS): Promise<'locked' | 'held' | 'late' | 'no flock'> {
    return new Promise((resolve, reject) => {
      // A session of its own: Ctrl-C in the terminal must not end the wait of a process that wants to exit in order.
      // The environment has none of our marks: the helper may wait for long, and is no part of our work.
      const env = { PATH: process.env['PATH'] }
      const child = spawn('flock', [...args, '3'], {
        cwd: '/',
        env,
        detached: true,
        stdio: ['ignore', 'ignore', 'ignore', this.fd],
      })
      this.#helper = child
      let late = false
      const timer = setTimeout(() => {
        late = true
        child.kill('SIGKILL')
      }, waitMs)
      child.once('error', (error: NodeJS.ErrnoException) => {
        clearTimeout(timer)
        if (error.code === 'ENOENT') resolve('no flock')
        else reject(error)
      })
      child.once('exit', (code, signal) => {
        clearTimeout(timer)
        if (code === 0) resolve('locked')
        else if (late) resolve('late')
        else if (code === 1 && args.includes('-n')) resolve('held')
        // Ctrl-C was pressed before it had its session.
        else if (signal === 'SIGINT' && !this.#closed) resolve(this.#flock(args, waitMs))
        else
          reject(
            new AppError(`Cannot lock ${this.#path}: flock ended with ${code ?? signal}`, {
              hint: 'Use a data directory on a local file system.',
            }),
          )
      })
    })
  }
}

function tooLate(path: string, waitMs: number): AppError {
  return new AppError(`another process has held the lock ${path} for ${waitMs / 1000} s`, {
    hint: `Find it with: fuser -v ${path}`,
  })
}
