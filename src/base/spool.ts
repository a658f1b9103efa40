import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Where a text lies in a spool: bytes. */
export interface Spooled {
  readonly at: number
  readonly size: number
}

/**
 * Texts on disk that need not fit into memory: a file in TMPDIR that has no name, so that nothing stays behind however
 * this process ends.
 */
export class Spool {
  #file: number | undefined
  #size = 0

  add(text: string): Spooled {
    const bytes = Buffer.from(text)
    const at = this.#size
    this.#file ??= nameless()
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

function nameless(): number {
  const folder = mkdtempSync(join(tmpdir(), 'archivebox-ts-list-'))
  try {
    return openSync(join(folder, 'list'), 'w+', 0o600)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
