/**
 * The pages that the lanes of one worker work on. A page may end its worker, and the attempt counts against all that
 * are lost with it: one that has already lost an attempt must have the process to itself.
 */
export class Company {
  readonly #pages = new Set<string>()
  #isAlone = false

  /**
   * Enters a claimed page.
   * @returns false: it may not begin now, and its claim is to be released
   */
  enter(id: string, isToBeAlone: boolean): boolean {
    // A lane may not have noticed yet that this very page was taken away from it.
    if (this.#isAlone || this.#pages.has(id) || (isToBeAlone && this.#pages.size > 0)) return false
    this.#pages.add(id)
    this.#isAlone = isToBeAlone
    return true
  }

  leave(id: string): void {
    this.#pages.delete(id)
    this.#isAlone = false
  }
}
