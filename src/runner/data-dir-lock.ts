import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { sleep } from '../base/abort.ts'
import { FileLock } from '../base/file-lock.ts'
import type { Home } from '../db/home.ts'

/** The first in line gets it within this time. */
const IN_LINE_MS = 100

/**
 * The kernel's lock on the data dir. A runner holds it for as long as it leads; it ends with its process, however that
 * dies, and never expires. It shows what the database cannot: a leader in another container of this machine, or one
 * that works on this data dir through another database.
 */
export class DataDirLock {
  readonly #path: string
  #lock: FileLock | undefined
  #line: { readonly lock: FileLock; readonly taken: Promise<boolean> } | undefined

  constructor({ dataDir }: Pick<Home, 'dataDir'>) {
    this.#path = join(dataDir, '.runner.lock')
  }

  /** Gets in line for it in the background: it is ours as soon as its holder lets go. */
  enqueue(): void {
    if (this.#lock || this.#line) return
    const lock = new FileLock(this.#path)
    const taken = lock.acquire().then(() => true)
    taken.catch(() => {}) // `take` gets the error.
    this.#line = { lock, taken }
  }

  /**
   * Takes it if nobody holds it, else stays in line for it. A taken one stays taken. Throws AppError where files cannot
   * be locked.
   */
  async take(): Promise<boolean> {
    if (this.#lock) return true
    this.enqueue()
    const { lock, taken } = this.#line!
    if (!(await Promise.race([taken, sleep(IN_LINE_MS)]))) return false
    truncateSync(this.#path)
    writeFileSync(lock.fd, `pid ${process.pid} on ${hostname()} since ${new Date().toISOString()}\n`)
    this.#line = undefined
    this.#lock = lock
    return true
  }

  /** What the holder wrote: its pid, its host, and since when it holds it. */
  holder(): string {
    return readFileSync(this.#path, 'utf8').trim() || 'somebody'
  }

  release(): void {
    this.#line?.lock.release()
    this.#line = undefined
    this.#lock?.release()
    this.#lock = undefined
  }
}
