/**
 * Bookmarks and feeds are never nested this deep, and each further element would cost the parser all those around it.
 */
const DEEPEST = 10_000

/** A list that is nested endlessly: what was read of it until then counts. */
export class TooDeep extends Error {
  constructor() {
    super(`nested deeper than ${DEEPEST} elements: what comes after that is left out`)
  }
}

/** The current depth of a parser. */
export class Nesting {
  #depth = 0

  /** Throws TooDeep. */
  open(): void {
    this.#depth += 1
    if (this.#depth > DEEPEST) throw new TooDeep()
  }

  close(): void {
    this.#depth -= 1
  }
}
