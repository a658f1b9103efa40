import type { Answer } from './answer.ts'

/** What the hooks that run in a row on one page have in common; gone when the row is over. */
export class Visit {
  #left: { readonly start: string; readonly encodings: string; readonly answer: Answer } | undefined
  readonly #known = new Map<string, unknown>()

  /** Leaves an answer to whoever asks for the same next: its body is still to be read. */
  leave(start: string, encodings: string, answer: Answer): void {
    this.close()
    this.#left = { start, encodings, answer }
  }

  /** The answer that somebody left; what was not packed is what others get who do not take it packed. */
  take(start: string, encodings: string): Answer | undefined {
    const left = this.#left
    if (left?.start !== start || left.answer.body.destroyed) return undefined
    if (left.encodings !== encodings && left.answer.headers['content-encoding'] !== undefined) return undefined
    this.#left = undefined
    return left.answer
  }

  /** What `make` says, once for each key. */
  once<T>(key: string, make: () => T): T {
    if (!this.#known.has(key)) this.#known.set(key, make())
    return this.#known.get(key) as T
  }

  close(): void {
    this.#left?.answer.body.destroy()
    this.#left = undefined
  }
}
