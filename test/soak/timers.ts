/** What is to happen later in a run, and what has to be undone by its end. */
export class Timers {
  readonly #pending = new Set<NodeJS.Timeout>()
  readonly #undoings = new Map<string | symbol, () => void>()

  /** Does something after a while, unless the run has ended by then. */
  after(ms: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.#pending.delete(timer)
      work()
    }, ms)
    this.#pending.add(timer)
  }

  /** Undoes something after a while, and at the end at the latest; of two with one name only the second. */
  later(ms: number, undo: () => void, name: string | symbol): void {
    const once = () => {
      if (this.#undoings.get(name) !== once) return
      this.#undoings.delete(name)
      undo()
    }
    this.#undoings.set(name, once)
    setTimeout(once, ms).unref()
  }

  /** Nothing more happens; what is not undone yet is undone now. */
  end(): void {
    for (const timer of this.#pending) clearTimeout(timer)
    for (const undo of this.#undoings.values()) undo()
  }
}
