/**
 * Divides a number of slots among supervisors so that together they never use more: what one has to give up goes to
 * another only when it says that it has. Pure: whoever has one tells the supervisors what it answers.
 */
export class SlotAllocator<Key> {
  readonly #total: number
  /** What each was told last, and what it may still be using: the same, but while it gives some up. */
  readonly #told = new Map<Key, number>()
  readonly #using = new Map<Key, number>()

  /** @param total at least as many as there will be supervisors: each gets one or more */
  constructor(total: number) {
    this.#total = total
  }

  /** Divides anew among these. Returns what has changed, to be told. */
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

  /** One has no more than `slots` in use now. */
  released(key: Key, slots: number): void {
    if (this.#using.has(key)) this.#using.set(key, Math.max(slots, this.#told.get(key) ?? 0))
  }

  #forget(key: Key): void {
    this.#told.delete(key)
    this.#using.delete(key)
  }
}
