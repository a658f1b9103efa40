/** A place in the order of claims: a schedule, as the database writes it, and an id. */
export interface Place {
  readonly at: string
  readonly id: string
}

/**
 * How long a place is remembered before claims look at the whole index again, for rows that were put before it since.
 */
const REMEMBERED_MS = 1_000

/**
 * How far claims have come. The index entries before it are dead, but stay until the next vacuum: whoever starts at the
 * head of the index reads past every row that was claimed since.
 */
export class Cursor {
  readonly #start: Place
  #place: Place | undefined
  #until = 0

  /** @param lowestId the id that steps over nothing */
  constructor(lowestId: string) {
    this.#start = { at: '-infinity', id: lowestId }
  }

  /** Where to look for rows: at the start, or further on. */
  get place(): Place {
    return (performance.now() < this.#until && this.#place) || this.#start
  }

  reached(at: string, id: string = this.#start.id): void {
    if (!this.isAhead) this.#until = performance.now() + REMEMBERED_MS
    this.#place = { at, id }
  }

  /** Finding nothing is no proof of an empty queue then. */
  get isAhead(): boolean {
    return this.place !== this.#start
  }

  reset(): void {
    this.#place = undefined
  }
}
