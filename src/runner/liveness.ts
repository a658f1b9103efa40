import { rmSync, utimesSync, writeFileSync } from 'node:fs'

/** Nobody looks at it more often. */
const EVERY_MS = 1_000

/**
 * A file that is there, and not old, while the leader's loop works and the database answers it; removed when the leader leaves in order. Stale
 * or missing: dead, stuck, or not leading. Each round of the loop touches it, so at the latest every 5 s.
 */
export class Liveness {
  readonly #file: string | undefined
  #touchedAt = Number.NEGATIVE_INFINITY

  constructor(file: string | undefined) {
    this.#file = file
  }

  /** Throws what the file system throws when the file cannot be made. */
  touch(): void {
    if (this.#file === undefined || performance.now() - this.#touchedAt < EVERY_MS) return
    this.#touchedAt = performance.now()
    const now = new Date()
    try {
      utimesSync(this.#file, now, now) // Needs no room on a full disk.
    } catch {
      writeFileSync(this.#file, `${process.pid}\n`)
    }
  }

  end(): void {
    if (this.#file !== undefined) rmSync(this.#file, { force: true })
  }
}
