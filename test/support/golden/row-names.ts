import type { TestHome } from '../homes.ts'

/** Names of the rows of a table begin so; with a number behind it they have eight characters, as the end of an id. */
const STEMS = [
  ['crawl', 'crawl-', 'id'],
  ['snapshot', 'page--', 'id'],
  ['archive_result', 'result', 'id'],
  ['schedule', 'sched-', 'id'],
  ['machine', 'mach--', 'id'],
  ['tag', 'tag---', 'name'],
] as const

const NAME = new RegExp(`\\b(?:${STEMS.map(([, stem]) => stem).join('|')}|proc--)\\d\\d(?!\\d)`, 'g')
const ID = /\b[0-9a-f]{8}(-[0-9a-f]{4}-[47][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})?\b/g

/** Ids in texts of the program itself. */
const EXAMPLE = '01994f6e'
/** So many digits, all ids of an hour begin with. */
const BEGIN = 6

/**
 * Names for ids, each the same in every run: `crawl-02` is the second crawl that was made. What only comes and goes,
 * as processes do, is numbered as it is met.
 */
export class RowNames {
  readonly #home: TestHome
  readonly #names = new Map<string, string>()
  /** By how ids end: tables show no more of them. */
  readonly #ends = new Map<string, string>()

  constructor(home: TestHome) {
    this.#home = home
  }

  /** Names the rows that are there. */
  async look(): Promise<void> {
    for (const [table, stem, order] of STEMS) {
      const rows = await this.#home.query<{ id: string }>(`select id from "${table}" order by ${order}`)
      for (const { id } of rows) if (!this.#names.has(id)) this.#name(id, stem)
    }
    for (const { id } of await this.#home.query<{ id: string }>('select id from process')) this.#ends.set(end(id), id)
    for (const id of this.#names.keys()) this.#ends.set(end(id), id)
  }

  /** A command in which names stand, with the last digits of ids. */
  typed(command: string): string {
    const ids = new Map([...this.#names].map(([id, name]) => [name, id]))
    const [first = ''] = this.#names.keys()
    return command.replaceAll('begin-', first.slice(0, BEGIN)).replaceAll(NAME, (name) => end(ids.get(name) ?? name))
  }

  /** A text in which ids stand, with names of the same length. */
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
