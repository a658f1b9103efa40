import type { TestHome } from '../homes.ts'

/**
 * The first parts of the names of a table's rows; with a number, a name has eight characters, like the end of an id.
 */
const STEMS = [
  ['crawl', 'crawl-', 'id'],
  ['snapshot', 'page--', 'id'],
  ['archive_result', 'result', 'id'],
  ['schedule', 'sched-', 'id'],
  ['machine', 'mach--', 'id'],
  ['node', 'node--', 'name'],
  ['tag', 'tag---', 'name'],
] as const

const NAME = new RegExp(`\\b(?:${STEMS.map(([, stem]) => stem).join('|')}|proc--)\\d\\d(?!\\d)`, 'g')
const ID = /\b[0-9a-f]{8}(-[0-9a-f]{4}-[47][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})?\b/g

/** Ids in texts of the program itself. */
const EXAMPLE = '01994f6e'
/** The number of digits with which all ids of an hour begin. */
const BEGIN = 6

/**
 * Replaces ids by names that are the same in every run: `crawl-02` is the second crawl that was made. Short-lived rows,
 * such as processes, are numbered when they first appear.
 */
export class RowNames {
  readonly #home: TestHome
  readonly #names = new Map<string, string>()
  /** By the ends of ids: tables show no more of them. */
  readonly #ends = new Map<string, string>()

  constructor(home: TestHome) {
    this.#home = home
  }

  /** Names the existing rows. */
  async look(): Promise<void> {
    for (const [table, stem, order] of STEMS) {
      const rows = await this.#home.query<{ id: string }>(`select id from "${table}" order by ${order}`)
      for (const { id } of rows) if (!this.#names.has(id)) this.#name(id, stem)
    }
    for (const { id } of await this.#home.query<{ id: string }>('select id from process')) this.#ends.set(end(id), id)
    for (const id of this.#names.keys()) this.#ends.set(end(id), id)
  }

  /** Replaces the names in a command by the last digits of ids. */
  typed(command: string): string {
    const ids = new Map([...this.#names].map(([id, name]) => [name, id]))
    const [first = ''] = this.#names.keys()
    return command.replaceAll('begin-', first.slice(0, BEGIN)).replaceAll(NAME, (name) => end(ids.get(name) ?? name))
  }

  /** Replaces the ids in a text by names of the same length. */
  shown(text: string): string {
    const [first = ''] = this.#names.keys()
    const named = text.replaceAll(ID, (found, rest?: string) => {
      if (found.startsWith(EXAMPLE)) return found
      const id = rest === undefined ? this.#ends.get(found) : found
      if (id === undefined) return found
      const name = this.#names.get(id) ?? this.#name(id, 'proc--')
      return rest === undefined ? name : `${'0'.repeat(8)}-0000-0000-0000-0000${name}`
    })
    return named.replaceAll(first.slice(0, BEGIN), 'begin-')
  }

  #name(id: string, stem: string): string {
    const count = [...this.#names.values()].filter((name) => name.startsWith(stem)).length
    const name = `${stem}${String(count + 1).padStart(2, '0')}`
    this.#names.set(id, name)
    return name
  }
}

const end = (id: string) => id.slice(-8)
