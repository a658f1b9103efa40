import { leadsOut } from '../../base/leads-out.ts'
import type { Home } from '../../db/home.ts'
import { isAway } from '../../db/nodes.ts'
import { filesOfPage } from '../../db/recorded-files.ts'
import type { NamedFile, NamedFiles } from './named-files.ts'

/** The parts of a capture that may be shown. */
export interface Capture {
  readonly url: string
  /** Its folder, relative to the data dir. */
  readonly folder: string
  readonly files: NamedFiles
}

/** How long knowledge of a capture is used: a page with fifty pictures asks once. */
const KNOWN_MS = 5_000
/** The most captures that are remembered, and the most file names of all of them. */
const MOST = 64
const MOST_NAMES = 250_000

interface Known {
  readonly until: number
  readonly capture: Promise<Capture | undefined>
  names: number
}

/** Captures by their ids, each remembered for a moment. */
export class Captures {
  readonly #home: Pick<Home, 'db' | 'dataDirId'>
  /** The most recently used one comes last. */
  readonly #known = new Map<string, Known>()

  constructor(home: Pick<Home, 'db' | 'dataDirId'>) {
    this.#home = home
  }

  /** Undefined: there is no such capture, or nothing of it may be shown. */
  async of(id: string): Promise<Capture | undefined> {
    const known = this.#known.get(id)
    this.#known.delete(id)
    if (known && known.until > performance.now()) {
      this.#known.set(id, known)
      return await known.capture
    }
    const fresh: Known = { until: performance.now() + KNOWN_MS, capture: this.#read(id), names: 0 }
    this.#known.set(id, fresh)
    try {
      const capture = await fresh.capture
      fresh.names = capture?.files.size ?? 0
      this.#forget()
      return capture
    } catch (error) {
      if (this.#known.get(id) === fresh) this.#known.delete(id)
      throw error
    }
  }

  #forget(): void {
    let names = 0
    for (const known of this.#known.values()) names += known.names
    for (const [id, known] of this.#known) {
      if (this.#known.size <= MOST && names <= MOST_NAMES) return
      this.#known.delete(id)
      names -= known.names
    }
  }

  async #read(id: string): Promise<Capture | undefined> {
    const rows = await filesOfPage(this.#home.db, id)
    const [first] = rows
    if (first === undefined) return undefined
    const { url, output_dir: folder, home_node: node } = first
    if (isAway(node, this.#home)) return undefined // A folder here is an older one.
    // The rows of a foreign backup may name any folder.
    if (leadsOut(folder) || !folder.startsWith('archive/')) return undefined
    const files = new Map<string, NamedFile>()
    for (const { plugin, output_files } of rows)
      for (const [name, { mimetype, link }] of Object.entries(output_files ?? {})) {
        const path = `${plugin}/${name}`
        if (!leadsOut(path) && !path.startsWith('.') && !path.includes('\0'))
          files.set(path, { mimetype, ...(link !== undefined && { link }) })
      }
    return { url, folder, files }
  }
}
