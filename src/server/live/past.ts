import type { Topic } from './topics.ts'

/** How many looks with changes are remembered for those who reconnect. */
const MOST_REMEMBERED = 1_000

/** How far a browser is up to date. */
export interface Place {
  /** The database of its last event; undefined: it had none, and gives the time when its page was made. */
  readonly identity: string | undefined
  readonly ms: number
}

/** Reads the id of an event, or the time of a page; undefined: it is neither. */
export function placeIn(from: string | undefined): Place | undefined {
  const [, identity, ms] = /^(?:([\w-]+)\.)?(\d{1,15})$/.exec(from ?? '') ?? []
  return ms === undefined ? undefined : { identity, ms: Number(ms) }
}

/** Recent reports, with their times by our clock in ms, which never goes back here. */
export class Past {
  /** What was before is unknown. */
  #begin = 0
  #last = 0
  readonly #told: { readonly at: number; readonly topics: readonly Topic[] }[] = []

  /** The time of the last report. */
  get at(): number {
    return this.#last
  }

  /** Something changed just now. */
  add(topics: readonly Topic[]): void {
    this.#told.push({ at: this.#tick(), topics })
    const old = this.#told.length > MOST_REMEMBERED ? this.#told.shift() : undefined
    if (old) this.#begin = old.at
  }

  /** Anything may have changed until now. */
  forget(): void {
    this.#told.length = 0
    this.#begin = this.#tick()
  }

  /** What was reported since then. @returns undefined when that is unknown */
  since(place: Place | undefined): Topic[] | undefined {
    if (!place) return undefined
    const isKnown = place.ms >= this.#begin && place.ms <= Math.max(this.#last, Date.now())
    return isKnown ? this.#told.filter(({ at }) => at > place.ms).flatMap(({ topics }) => topics) : undefined
  }

  #tick(): number {
    this.#last = Math.max(this.#last + 1, Date.now())
    return this.#last
  }
}
