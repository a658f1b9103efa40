/** A position in the order of claims: a schedule, as the database writes it, and an id. */
export interface Place {
  readonly at: string
  readonly id: string
}

/** How long a position is used before claims read the index from its start again, for rows inserted before it. */
const REMEMBERED_MS = 1_000

/**
 * How far claims have come in the index. The entries before are dead but stay until the next vacuum: a claim from the
 * start would read past every row claimed since.
 */
export class Cursor {
  readonly #start: Place
  #place: Place | undefined
  #until = 0

  /** @param lowestId the id that skips nothing */
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

  /** Finding nothing does not prove that the queue is empty. */
  get isAhead(): boolean {
    return this.place !== this.#start
  }

  reset(): void {
    this.#place = undefined
  }
}
