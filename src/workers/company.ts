/**
 * The pages that the lanes of one worker have at work. A page may end its worker, and the attempt counts against all
 * that are lost with it: one that has lost an attempt already has the process to itself.
 */
export class Company {
  readonly #pages = new Set<string>()
  #isOpen = true

  /** May a further page be claimed? Not while one is alone, or was refused because it is to be alone. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /**
   * Enters a claimed page. One that is to be alone is refused beside others, rather than kept waiting: it would lose an
   * attempt with them. Then no further one enters until they are done.
   * @returns false: it may not begin now, and its claim is to be released
   */
  enter(id: string, isToBeAlone: boolean): boolean {
    // A lane may not have noticed yet that this very page was taken away from it.
    if (!this.#isOpen || this.#pages.has(id)) return false
    this.#isOpen = !isToBeAlone
    if (isToBeAlone && this.#pages.size > 0) return false
    this.#pages.add(id)
    return true
  }

  leave(id: string): void {
    this.#pages.delete(id)
    if (this.#pages.size === 0) this.#isOpen = true
  }
}
