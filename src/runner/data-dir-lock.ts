import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { sleep } from '../base/abort.ts'
import { FileLock } from '../base/file-lock.ts'
import type { Home } from '../db/home.ts'

/** Who is next in line has it so soon after its holder let go. */
const IN_LINE_MS = 50

/**
 * The kernel's lock on the data dir, held for as long as a runner leads and gone with its process, however it dies. It sees what the database
 * cannot: a leader in another container of this machine, or one that works on this data dir through another database.
 */
export class DataDirLock {
  readonly #path: string
  #lock: FileLock | undefined
  #line: { readonly lock: FileLock; readonly taken: Promise<boolean> } | undefined

  constructor({ dataDir }: Pick<Home, 'dataDir'>) {
    this.#path = join(dataDir, '.runner.lock')
  }

  /** Waits in line for it, beside whatever else: it is there when its holder has let go. */
  lineUp(): void {
    if (this.#lock || this.#line) return
    const lock = new FileLock(this.#path)
    this.#line = { lock, taken: lock.inLine() }
  }

  /** Takes it if nobody holds it. A taken one stays taken. */
  async take(): Promise<boolean> {
    if (this.#lock) return true
    const lock = this.#line?.lock ?? new FileLock(this.#path)
    const taken = this.#line ? Promise.race([this.#line.taken, sleep(IN_LINE_MS)]) : lock.tryExclusive()
    if (!(await taken)) {
      this.release()
      lock.release()
      return false
    }
    this.#line = undefined
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
    this.#line?.lock.release()
    this.#line = undefined
    this.#lock?.release()
    this.#lock = undefined
  }
}
