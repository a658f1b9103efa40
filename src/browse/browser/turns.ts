/** Appended to the relay's endpoint for exclusive use of the browser. */
export const ALONE = 'alone'

/** Tells clients that the browser itself has ended, and not only the relay (RFC 6455, 7.4.1). */
export const ENDED = 1011

interface Waiting {
  readonly isAlone: boolean
  readonly enter: () => void
}

/** Decides who may use a shared resource, in order of arrival: many at once, or one exclusively. */
export class Turns {
  readonly #waiting: Waiting[] = []
  #inside = 0
  #isAlone = false

  /** Waits for a turn. @returns ends the turn: to be called once */
  async take(isAlone: boolean): Promise<() => void> {
    await new Promise<void>((enter) => {
      this.#waiting.push({ isAlone, enter })
      this.#admit()
    })
    return () => {
      this.#inside--
      this.#isAlone = false
      this.#admit()
    }
  }

  #admit(): void {
    for (let next = this.#waiting[0]; next && this.#isFreeFor(next); next = this.#waiting[0]) {
      this.#waiting.shift()
      this.#inside++
      this.#isAlone = next.isAlone
      next.enter()
    }
  }

  #isFreeFor({ isAlone }: Waiting): boolean {
    return this.#inside === 0 || !(isAlone || this.#isAlone)
  }
}
