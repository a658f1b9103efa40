/** How long an expensive result is kept, for everybody who asks. */
const KEPT_MS = 10_000

/** A result, and when it was found. */
export interface FoundOut<T> {
  readonly value: T
  readonly at: Date
}

/** Computes a result on demand, and keeps it for a while. */
export class OnceInAWhile<T> {
  readonly #find: () => Promise<T>
  #found: { readonly until: number; readonly answer: Promise<FoundOut<T>> } | undefined

  constructor(find: () => Promise<T>) {
    this.#find = find
  }

  async get(): Promise<FoundOut<T>> {
    if (this.#found === undefined || this.#found.until < performance.now()) {
      const answer = this.#find().then((value) => ({ value, at: new Date() }))
      answer.catch(() => {
        this.#found = undefined
      })
      this.#found = { until: performance.now() + KEPT_MS, answer }
    }
    return await this.#found.answer
  }
}
