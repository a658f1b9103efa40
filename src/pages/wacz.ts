import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Writable } from 'node:stream'
import { PAGE_WARC } from '../base/crawl-wacz.ts'
import { Spool, type Spooled } from '../base/spool.ts'

import { mergePages, type PageSource } from '../browse/warc/merge.ts'
import { WaczFile } from '../browse/warc/wacz-file.ts'

/** A page in the database. */
interface Page {
  readonly id: string
  readonly url: string
  readonly title: string | null
  readonly output_dir: string
  /** The bytes of its hooks' output. */
  readonly output_size: number
}

type NotedPage = Omit<Page, 'output_size'>

/** Pages that go into one WACZ, listed on disk: a million of them need hardly any memory. */
export class WaczPages {
  readonly #dataDir: string
  readonly #spool = new Spool()
  readonly #pages: Spooled[] = []
  /** The bytes of their WARCs. */
  size = 0
  /** Pages that have no WARC, at least not here. */
  lacking = 0
  /** Those of them whose files are not here: another machine has archived them, and its disk is not ours. */
  elsewhere = 0

  constructor(dataDir: string) {
    this.#dataDir = dataDir
  }

  get count(): number {
    return this.#pages.length
  }

  add({ id, url, title, output_dir, output_size }: Page): void {
    const warc = join(this.#dataDir, output_dir, PAGE_WARC)
    if (!existsSync(warc)) {
      this.lacking += 1
      if (output_size > 0 && !existsSync(join(this.#dataDir, output_dir))) this.elsewhere += 1
      return
    }
    this.size += statSync(warc).size
    this.#pages.push(this.#spool.add(JSON.stringify({ id, url, title, output_dir } satisfies NotedPage)))
  }

  /** Whether each of them still has its WARC: none was deleted meanwhile. */
  get areThere(): boolean {
    return [...this.#sources()].every(({ folder }) => existsSync(join(folder, '..', PAGE_WARC)))
  }

  /**
   * Writes the package, oldest page first when they were added newest first. Throws the file system's error.
   * @param title gets a note when pages are elsewhere
   */
  async write(out: Writable, title: string): Promise<void> {
    const wacz = new WaczFile(out)
    try {
      const part = ` (${this.count} of ${this.count + this.elsewhere} pages: the others are not here)`
      await mergePages(wacz, () => this.#sources(), { title: this.elsewhere > 0 ? title + part : title })
    } catch (error) {
      wacz.abandon()
      throw error
    }
  }

  close(): void {
    this.#spool.close()
  }

  *#sources(): Generator<PageSource> {
    for (const place of this.#pages.toReversed()) {
      const { id, url, title, output_dir } = JSON.parse(this.#spool.read(place)) as NotedPage
      yield {
        id,
        url: url.replace(/#.*$/s, ''),
        ...(title && { title }),
        folder: dirname(join(this.#dataDir, output_dir, PAGE_WARC)),
      }
    }
  }
}
