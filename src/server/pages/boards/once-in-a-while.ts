/** What is dear to find out is found out at most once in this time, for all who ask. */
const KEPT_MS = 10_000

/** Something that was found out, and when. */
export interface FoundOut<T> {
  readonly value: T
  readonly at: Date
}

/** Finds something out when it is asked for, and keeps that for a while. */
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
