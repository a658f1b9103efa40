import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Writable } from 'node:stream'
import { PAGE_WARC } from '../base/crawl-wacz.ts'
import { Spool, type Spooled } from '../base/spool.ts'
import { mergePages, type PageSource } from '../browse/warc/merge.ts'
import { WaczFile } from '../browse/warc/wacz-file.ts'
import type { Home } from '../db/home.ts'
import { isAway } from '../db/nodes.ts'

/** A page in the database. */
interface Page {
  readonly id: string
  readonly url: string
  readonly title: string | null
  readonly output_dir: string
  readonly home_node: string | null
}

type NotedPage = Omit<Page, 'home_node'>

/** Pages that go into one WACZ, listed on disk: a million of them need hardly any memory. */
export class WaczPages {
  readonly #home: Pick<Home, 'dataDir' | 'dataDirId'>
  readonly #spool = new Spool()
  readonly #pages: Spooled[] = []
  /** The bytes of their WARCs. */
  size = 0
  /** Pages that have no WARC. */
  lacking = 0
  /** How many more have their files on other nodes, by the ids of these. */
  readonly away = new Map<string, number>()

  constructor(home: Pick<Home, 'dataDir' | 'dataDirId'>) {
    this.#home = home
  }

  get count(): number {
    return this.#pages.length
  }

  get elsewhere(): number {
    return [...this.away.values()].reduce((sum, pages) => sum + pages, 0)
  }

  add({ id, url, title, output_dir, home_node: node }: Page): void {
    if (isAway(node, this.#home)) {
      this.away.set(node, (this.away.get(node) ?? 0) + 1)
      return
    }
    const warc = join(this.#home.dataDir, output_dir, PAGE_WARC)
    if (!existsSync(warc)) {
      this.lacking += 1
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
        folder: dirname(join(this.#home.dataDir, output_dir, PAGE_WARC)),
      }
    }
  }
}
