import type { Answer } from './answer.ts'

/** Shared by the hooks that run in a row on one page; discarded with the row. */
export class Visit {
  #left: { readonly start: string; readonly encodings: string; readonly answer: Answer } | undefined
  readonly #known = new Map<string, unknown>()
  readonly #closers: (() => Promise<void>)[] = []
  readonly #plugins: readonly string[]

  /** @param plugins whose hooks are in the row */
  constructor(plugins: readonly string[]) {
    this.#plugins = plugins
  }

  /** Is a hook of this plugin in the row? */
  includes(plugin: string): boolean {
    return this.#plugins.includes(plugin)
  }

  /** Leaves an answer for the next hook that requests the same; its body is unread. */
  keep(start: string, encodings: string, answer: Answer): void {
    this.#drop()
    this.#left = { start, encodings, answer }
  }

  /** The answer that was left; one without encoding also serves hooks that accept encodings. */
  take(start: string, encodings: string): Answer | undefined {
    const left = this.#left
    if (left?.start !== start || left.answer.body.destroyed) return undefined
    if (left.encodings !== encodings && left.answer.headers['content-encoding'] !== undefined) return undefined
    this.#left = undefined
    return left.answer
  }

  /** The result of `make`, computed once per key. */
  once<T>(key: string, make: () => T): T {
    if (!this.#known.has(key)) this.#known.set(key, make())
    return this.#known.get(key) as T
  }

  /** Forgets what was computed for a key. */
  forget(key: string): void {
    this.#known.delete(key)
  }

  /** What must be done when the row is over; it never rejects. */
  onClose(closer: () => Promise<void>): void {
    this.#closers.push(closer)
  }

  async close(): Promise<void> {
    this.#drop()
    await Promise.all(this.#closers.map((closer) => closer()))
  }

  #drop(): void {
    this.#left?.answer.body.destroy()
    this.#left = undefined
  }
}
