import type { Topic } from './topics.ts'

/** Looks that found something, and are remembered for who comes back. */
const MOST_REMEMBERED = 1_000

/** Until when a browser knows what was told. */
export interface Place {
  /** Of the database whose event it had last; undefined: it had none, and says when its page was made. */
  readonly identity: string | undefined
  readonly ms: number
}

/** Reads the id of an event, or the time of a page; undefined: it is neither. */
export function placeIn(from: string | undefined): Place | undefined {
  const [, identity, ms] = /^(?:([\w-]+)\.)?(\d{1,15})$/.exec(from ?? '') ?? []
  return ms === undefined ? undefined : { identity, ms: Number(ms) }
}

/** What was told lately, and when, by our clock in ms, which here never goes back. */
export class Past {
  /** What was before is not known. */
  #begin = 0
  #last = 0
  readonly #told: { readonly at: number; readonly topics: readonly Topic[] }[] = []

  /** When something was told last. */
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

  /** What was told since. @returns undefined when that is not known */
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
