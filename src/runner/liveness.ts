import { rmSync, utimesSync, writeFileSync } from 'node:fs'

/**
 * A file that is fresh while the leader's loop works and the database answers. The leader removes it when it exits in
 * order. Stale or missing means dead, stuck, or not leading.
 */
export class Liveness {
  readonly #file: string | undefined
  #isWell = false

  constructor(file: string | undefined) {
    this.#file = file
  }

  /** The loop has come round: at the latest every 5 s. */
  isWell(): void {
    this.#isWell = true
  }

  /** Touches the file, if the loop has come round since. Throws what the file system throws. */
  touch(): void {
    if (this.#file === undefined || !this.#isWell) return
    this.#isWell = false
    const now = new Date()
    try {
      utimesSync(this.#file, now, now) // Needs no space on a full disk.
    } catch {
      writeFileSync(this.#file, `${process.pid}\n`)
    }
  }

  /** Removes the file. Throws what the file system throws. */
  end(): void {
    if (this.#file !== undefined) rmSync(this.#file, { force: true })
  }
}
