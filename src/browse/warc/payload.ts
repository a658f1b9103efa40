import { createHash } from 'node:crypto'
import { closeSync, createReadStream, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

/** Larger bodies go to a file. */
const MEMORY_BYTES = 1024 * 1024

/** A body that arrives piece by piece: a small one in memory, a large one in a file, which `drop` deletes. */
export class Payload {
  readonly #path: string
  readonly #hash = createHash('sha256')
  #pieces: Buffer[] = []
  #file: number | undefined
  #size = 0
  #digest: string | undefined

  /** @param path of the file, if one is needed */
  constructor(path: string) {
    this.#path = path
  }

  static of(bytes: Buffer): Payload {
    const payload = new Payload('')
    payload.#pieces = [bytes]
    payload.#size = bytes.length
    payload.#hash.update(bytes)
    return payload
  }

  get size(): number {
    return this.#size
  }

  /** SHA-256 in hex. Nothing can be added afterwards. */
  get digest(): string {
    this.#digest ??= this.#hash.digest('hex')
    return this.#digest
  }

  /** Throws the file system's error. */
  add(piece: Buffer): void {
    this.#hash.update(piece)
    this.#pieces.push(piece)
    this.#size += piece.length
    if (this.#size <= MEMORY_BYTES) return
    this.#file ??= this.#open()
    for (const bytes of this.#pieces)
      for (let done = 0; done < bytes.length; ) done += writeSync(this.#file, bytes, done)
    this.#pieces = []
  }

  #open(): number {
    mkdirSync(dirname(this.#path), { recursive: true })
    return openSync(this.#path, 'w', 0o600)
  }

  /** Yields its bytes; can be read repeatedly. */
  async *pieces(): AsyncGenerator<Buffer, void> {
    if (this.#file === undefined) yield* this.#pieces
    else for await (const piece of createReadStream(this.#path)) yield piece as Buffer
  }

  /** The bytes of a body in memory; undefined: it is in a file. */
  get bytes(): Buffer | undefined {
    return this.#file === undefined ? Buffer.concat(this.#pieces) : undefined
  }

  drop(): void {
    this.#pieces = []
    if (this.#file === undefined) return
    closeSync(this.#file)
    rmSync(this.#path, { force: true })
    this.#file = undefined
  }
}
