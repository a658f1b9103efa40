/**
 * Shares out slots among supervisors so that together they never use more than the total: a slot moves on only when its
 * holder reports that it has released it. Pure: the caller tells the supervisors what `divide` returns.
 */
export class SlotAllocator<Key> {
  readonly #total: number
  /**
   * The share that each was last told, and the slots that it may still use: more than its share until it has released
   * some.
   */
  readonly #told = new Map<Key, number>()
  readonly #using = new Map<Key, number>()

  /** @param total at least the number of supervisors, so that each gets a slot */
  constructor(total: number) {
    this.#total = total
  }

  /** Shares out the slots anew among these. @returns the shares that have changed, which the caller announces */
  divide(keys: readonly Key[]): Map<Key, number> {
    for (const key of [...this.#told.keys()]) if (!keys.includes(key)) this.#forget(key)
    const news = new Map<Key, number>()
    const tell = (key: Key, slots: number) => {
      if (this.#told.get(key) === slots) return
      this.#told.set(key, slots)
      this.#using.set(key, Math.max(slots, this.#using.get(key) ?? 0))
      news.set(key, slots)
    }
    const fair = (index: number) => Math.floor(this.#total / keys.length) + (index < this.#total % keys.length ? 1 : 0)
    for (const [index, key] of keys.entries()) if ((this.#told.get(key) ?? 0) > fair(index)) tell(key, fair(index))
    for (const [index, key] of keys.entries()) {
      const free = this.#total - [...this.#using.values()].reduce((sum, slots) => sum + slots, 0)
      tell(key, Math.min(fair(index), Math.max(this.#told.get(key) ?? 0, this.#using.get(key) ?? 0) + free))
    }
    return news
  }

  /** A supervisor reports that it uses no more than `slots` now. */
  released(key: Key, slots: number): void {
    if (this.#using.has(key)) this.#using.set(key, Math.max(slots, this.#told.get(key) ?? 0))
  }

  #forget(key: Key): void {
    this.#told.delete(key)
    this.#using.delete(key)
  }
}
