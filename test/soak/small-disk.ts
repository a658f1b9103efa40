import { execFileSync, spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** The archive's own disk, which can be full without harm to others. */
export class SmallDisk {
  readonly #dir: string
  readonly #filler: string
  readonly isThere: boolean

  constructor(dir: string, megabytes: number) {
    this.#dir = dir
    this.#filler = join(dir, '.filler')
    mkdirSync(dir, { recursive: true })
    this.isThere =
      spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', dir], { stdio: 'ignore' }).status === 0
  }

  /** Writes until nothing more fits. */
  fill(): void {
    const file = openSync(this.#filler, 'a')
    const bytes = Buffer.alloc(1024 * 1024)
    try {
      for (;;) writeSync(file, bytes)
    } catch {
      // Full.
    } finally {
      closeSync(file)
    }
  }

  empty(): void {
    rmSync(this.#filler, { force: true })
  }

  remove(): void {
    if (this.isThere) execFileSync('umount', ['-l', this.#dir])
  }
}
