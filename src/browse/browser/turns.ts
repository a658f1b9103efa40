/** What follows the relay's endpoint where the browser is spoken to with nobody else meanwhile. */
export const ALONE = 'alone'

/** What those are told whose browser has ended, and not only who passes their words on (RFC 6455, 7.4.1). */
export const ENDED = 1011

interface Waiting {
  readonly isAlone: boolean
  readonly enter: () => void
}

/** Who may use something that is shared, in the order of their coming: many at once, or one alone. */
export class Turns {
  readonly #waiting: Waiting[] = []
  #inside = 0
  #isAlone = false

  /** Resolves when it is one's turn, with what ends it: to be called once. */
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
