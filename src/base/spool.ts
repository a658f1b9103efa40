import { closeSync, readSync, writeSync } from 'node:fs'
import { namelessFile } from './nameless-file.ts'

/** The position of a text in a spool, in bytes. */
export interface Spooled {
  readonly at: number
  readonly size: number
}

/** Texts on disk that need not fit into memory. */
export class Spool {
  #file: number | undefined
  #size = 0

  add(text: string): Spooled {
    const bytes = Buffer.from(text)
    const at = this.#size
    this.#file ??= namelessFile()
    for (let done = 0; done < bytes.length; ) done += writeSync(this.#file, bytes, done, bytes.length - done, at + done)
    this.#size += bytes.length
    return { at, size: bytes.length }
  }

  read({ at, size }: Spooled): string {
    const bytes = Buffer.allocUnsafe(size)
    for (let done = 0; done < size; ) done += readSync(this.#file!, bytes, done, size - done, at + done)
    return bytes.toString()
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }
}
