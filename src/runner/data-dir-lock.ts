import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { FileLock } from '../base/file-lock.ts'
import type { Home } from '../db/home.ts'

/**
 * The kernel's lock on the data dir, held for as long as a runner leads and gone with its process, however it dies. It sees what the database
 * cannot: a leader in another container of this machine, or one that works on this data dir through another database.
 */
export class DataDirLock {
  readonly #path: string
  #lock: FileLock | undefined

  constructor(home: Home) {
    this.#path = join(home.dataDir, '.runner.lock')
  }

  /** Takes it if nobody holds it. A taken one stays taken. */
  async take(): Promise<boolean> {
    if (this.#lock) return true
    const lock = new FileLock(this.#path)
    if (!(await lock.tryExclusive())) {
      lock.release()
      return false
    }
    truncateSync(this.#path)
    writeFileSync(lock.fd, `pid ${process.pid} on ${hostname()}\n`)
    this.#lock = lock
    return true
  }

  /** Who holds it, by what it wrote. */
  holder(): string {
    return readFileSync(this.#path, 'utf8').trim() || 'somebody'
  }

  release(): void {
    this.#lock?.release()
    this.#lock = undefined
  }
}
