import { type FileHandle, open, rename, rm, writeFile } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { unlessAborted } from '../../base/abort.ts'

/** The longest body in memory; a longer one goes to a file. */
const IN_MEMORY = 256 * 1024
const READ_BYTES = 64 * 1024

/**
 * A body as the server sends it, before content decoding. It is received while a reader reads it, and kept: the next
 * reader starts at the beginning, and continues where the one before stopped. So a body that breaks off, or never ends,
 * is kept as far as it came.
 */
export class Received {
  readonly #source: AsyncIterator<Buffer>
  readonly #stream: Readable
  readonly #drop: () => void
  readonly #place: string | undefined
  #parts: Buffer[] = []
  #last: Buffer = Buffer.alloc(0)
  #file: { readonly handle: FileHandle; path: string } | undefined
  #size = 0
  #waitedMs = 0
  #next: Promise<void> | undefined
  #isBegun = false
  #isOver = false
  #hasEnded = false
  #trouble: unknown

  /**
   * @param drop ends a stream of which nothing was read
   * @param place the path of a file for a long body; undefined: all of it stays in memory
   */
  constructor(stream: Readable, drop: () => void, place?: string) {
    this.#stream = stream
    this.#source = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>
    this.#drop = drop
    this.#place = place
  }

  /** The number of bytes received so far. */
  get size(): number {
    return this.#size
  }

  /** How long readers have waited for the server, in milliseconds. */
  get waitedMs(): number {
    return this.#waitedMs
  }

  /** Whether the server has ended it, completely or not, and not a reader. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Whether the server closed the connection while nobody was reading. */
  get isLost(): boolean {
    return !this.#isOver && this.#stream.destroyed
  }

  /** Yields the whole body, from the start. Throws the error that made it break off, and the reason of `signal`. */
  async *chunks(signal: AbortSignal): AsyncGenerator<Buffer, void, undefined> {
    for (let at = 0; ; ) {
      for await (const chunk of this.#from(at)) {
        at += chunk.length
        yield chunk
      }
      if (at < this.#size) continue
      if (this.#isOver) break
      await this.#receive(signal)
    }
    if (this.#trouble !== undefined) throw this.#trouble
  }

  /** Stops receiving. @param trouble why, for later readers */
  async leave(trouble: unknown): Promise<void> {
    if (this.#isOver) return
    this.#isOver = true
    this.#trouble = trouble
    if (this.#isBegun) this.#stream.destroy()
    else this.#drop()
    await this.#next
  }

  /**
   * Moves what has arrived to a path on the same disk, and stops receiving.
   * @param trouble why, for later readers
   */
  async saveTo(path: string, trouble?: unknown): Promise<void> {
    await this.leave(trouble)
    if (!this.#file) return await writeFile(path, this.#parts)
    await rename(this.#file.path, path)
    this.#file.path = path
  }

  /** Discards the body when it is no longer needed. */
  async close(): Promise<void> {
    await this.leave(undefined)
    this.#parts = []
    await this.#file?.handle.close()
    if (this.#file && this.#file.path === this.#place) await rm(this.#place, { force: true })
    this.#file = undefined
  }

  async *#from(at: number): AsyncGenerator<Buffer, void, undefined> {
    if (at < this.#size && at + this.#last.length === this.#size) return yield this.#last
    let start = 0
    for (const part of this.#file ? [] : [...this.#parts]) {
      if (start >= at) yield part
      start += part.length
    }
    for (let place = Math.max(at, start); this.#file && place < this.#size; ) {
      const length = Math.min(READ_BYTES, this.#size - place)
      const { buffer, bytesRead } = await this.#file.handle.read(Buffer.allocUnsafe(length), 0, length, place)
      if (bytesRead === 0) return
      yield buffer.subarray(0, bytesRead)
      place += bytesRead
    }
  }

  /** Waits for the next piece, or until the signal aborts; the piece then goes to the next reader. */
  async #receive(signal: AbortSignal): Promise<void> {
    this.#next ??= this.#take().finally(() => {
      this.#next = undefined
    })
    const began = performance.now()
    try {
      await unlessAborted(this.#next, signal)
    } finally {
      this.#waitedMs += performance.now() - began
    }
  }

  /** Never rejects. */
  async #take(): Promise<void> {
    this.#isBegun = true
    try {
      const { done, value } = await this.#source.next()
      if (done) this.#isOver = this.#hasEnded = true
      else await this.#keep(value)
    } catch (error) {
      if (!this.#isOver) await this.#breakOff(error)
    }
  }

  async #breakOff(error: unknown): Promise<void> {
    this.#hasEnded = true
    this.#trouble = error
    try {
      // A stream that broke off may still have unread data.
      const rest: unknown = this.#stream.read()
      if (Buffer.isBuffer(rest)) await this.#keep(rest)
    } catch (worse) {
      this.#trouble = worse
    }
    this.#isOver = true
  }

  async #keep(chunk: Buffer): Promise<void> {
    if (!this.#file && (this.#size + chunk.length <= IN_MEMORY || this.#place === undefined)) this.#parts.push(chunk)
    else {
      this.#file ??= await this.#spill(this.#place!)
      await this.#file.handle.writeFile(chunk)
    }
    this.#last = chunk
    this.#size += chunk.length
  }

  async #spill(path: string): Promise<{ handle: FileHandle; path: string }> {
    const handle = await open(path, 'w+')
    await handle.writeFile(Buffer.concat(this.#parts))
    this.#parts = []
    return { handle, path }
  }
}
