/** Its key in a visit: the browser had no turn for the page, whose hooks come again later. */
export const COMES_LATER = 'comes later'

/** Shared by the hooks that run in a row on one page; discarded with the row. */
export class Visit {
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

  /** The result of `make`, computed once per key. */
  once<T>(key: string, make: () => T): T {
    if (!this.#known.has(key)) this.#known.set(key, make())
    return this.#known.get(key) as T
  }

  /** What was computed for a key, if it was. */
  known<T>(key: string): T | undefined {
    return this.#known.get(key) as T | undefined
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
    await Promise.all(this.#closers.map((closer) => closer()))
  }
}
