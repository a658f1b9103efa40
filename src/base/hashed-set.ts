import { hash } from 'node:crypto'

/** A slot holds 16 bytes; no two texts share all of them. */
const WORDS = 4
/** Up to this many texts are kept as they are: loading Node's crypto would take longer than everything else. */
const FEW = 256

/**
 * A set of texts that keeps a 16-byte hash of each, in one array: as strings in a Set, a million of them take 150 MB.
 */
export class HashedSet {
  readonly #few = new Set<string>()
  #slots = new Uint32Array(1_024 * WORDS)
  #size = 0

  get size(): number {
    return this.#few.size + this.#size
  }

  /** Adds a text. @returns false when it was there already */
  add(text: string): boolean {
    if (this.#few.has(text)) return false
    if (this.#few.size < FEW) return this.#few.add(text).size > 0
    const bytes = hash('sha256', text, 'buffer')
    const key = Uint32Array.of(
      bytes.readUInt32LE(0),
      bytes.readUInt32LE(4),
      bytes.readUInt32LE(8),
      bytes.readUInt32LE(12),
    )
    const at = placeOf(key, this.#slots)
    if (!isEmpty(this.#slots, at)) return false
    this.#slots.set(key, at)
    this.#size += 1
    if (this.#size * 2 * WORDS > this.#slots.length) this.#grow()
    return true
  }

  #grow(): void {
    const slots = new Uint32Array(this.#slots.length * 2)
    for (let from = 0; from < this.#slots.length; from += WORDS) {
      if (isEmpty(this.#slots, from)) continue
      const key = this.#slots.subarray(from, from + WORDS)
      slots.set(key, placeOf(key, slots))
    }
    this.#slots = slots
  }
}

/** The index of a key, present or not: the first matching slot from where its hash points. */
function placeOf(key: Uint32Array, slots: Uint32Array): number {
  const count = slots.length / WORDS
  for (let slot = key[0]! % count; ; slot = (slot + 1) % count) {
    const at = slot * WORDS
    if (isEmpty(slots, at) || key.every((word, index) => slots[at + index] === word)) return at
  }
}

function isEmpty(slots: Uint32Array, at: number): boolean {
  return slots[at] === 0 && slots[at + 1] === 0 && slots[at + 2] === 0 && slots[at + 3] === 0
}
