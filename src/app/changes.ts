import { databaseOid, MOST_CHANGES, type Moment, momentOf, type RowState, type Watched } from '../db/changes.ts'
import { serverIdentity } from '../db/server-identity.ts'
import type { Archive } from './archive.ts'

export type { Watched } from '../db/changes.ts'

/** What changed between two looks. */
export interface Changes {
  /** Any page in the archive, or a crawl that was added, removed, begun or sealed. */
  readonly archive: boolean
  /** Pages, by id. */
  readonly pages: readonly string[]
  /** Crawls, by id: the crawl, or any of its pages. */
  readonly crawls: readonly string[]
  /** Who works, or on what. */
  readonly processes: boolean
}

type Of = Pick<Archive, 'home'>

/** How many rows of one kind are watched individually; further ones are reported when they are sealed. */
const MOST_WATCHED = 500

/** Polls an archive, and reports each time what has changed. Only those who look pay for it. */
export class Watch {
  readonly #archive: Of
  #last: Moment | undefined
  #identity = ''
  #watched: Watched = { pages: [], crawls: [] }
  /** Changes that were reported, and may be read again while an older transaction runs. */
  #told: ReadonlySet<string> = new Set()

  constructor(archive: Of) {
    this.#archive = archive
  }

  /** Whether any page was in work at the last look. */
  get isWorking(): boolean {
    return (this.#last?.working.length ?? 0) > 0
  }

  /**
   * The database that it saw last: after a restore or a failover it is another one, and what was seen before means
   * nothing. Empty before the first look.
   */
  get identity(): string {
    return this.#identity
  }

  /**
   * @param asked the rows that are watched: every change of these is reported, of others only their end and work on
   * them. Open rows that were not watched the last time count as changed
   * @returns undefined when anything may have changed: the first time, after more changes than one look reads, and when
   * the server was restarted. Throws when the database is away
   */
  async look(asked: Watched): Promise<Changes | undefined> {
    const { db, dataDirId } = this.#archive.home
    const watched = { pages: asked.pages.slice(0, MOST_WATCHED), crawls: asked.crawls.slice(0, MOST_WATCHED) }
    const before = this.#last
    const now = await momentOf(db, dataDirId, before?.horizon ?? FROM_NOW, watched)
    if (now.server !== before?.server) this.#identity = await databaseIdentity(this.#archive)
    const [told, were] = [this.#told, this.#watched]
    this.#last = now
    this.#watched = watched
    this.#told = new Set(now.sealed.map(({ change }) => change))
    if (now.server !== before?.server || now.sealed.length === MOST_CHANGES) return undefined
    const sealed = now.sealed.filter(({ change }) => !told.has(change))
    const working = differences(before.working, now.working)
    const crawls = differences(before.crawls, now.crawls)
    const here = (kind: keyof Watched) => {
      const ids = new Set(watched[kind])
      // A row that is no longer watched did not change by that.
      return differences(
        before.watched[kind].filter(({ id }) => ids.has(id)),
        now.watched[kind],
      )
    }
    const isOver = ({ id, state }: RowState) => !were.crawls.includes(id) && state.startsWith('sealed')
    return {
      archive: sealed.length > 0 || crawls.length > 0,
      pages: unique([...sealed.flatMap(({ id }) => id ?? []), ...[...working, ...here('pages')].map(({ id }) => id)]),
      crawls: unique([
        ...[...sealed, ...working].map(({ crawl_id }) => crawl_id),
        ...[...crawls, ...here('crawls').filter((row) => !isOver(row))].map(({ id }) => id),
      ]),
      processes: working.length > 0 || now.processes !== before.processes,
    }
  }
}

/** The first look only sets the horizon: no transaction has this number yet. */
const FROM_NOW = '18446744073709551615'

async function databaseIdentity({ home }: Of): Promise<string> {
  const [server, database] = [await serverIdentity(home.db), await databaseOid(home.db)]
  return [server ?? '', database].join('-').replace(/[^\w-]/g, '_')
}

/** The rows that are in only one of the lists, or differ between them. */
function differences<Row extends RowState>(before: readonly Row[], now: readonly Row[]): Row[] {
  const states = new Map(before.map((row) => [row.id, row]))
  const fresh = now.filter(({ id, state }) => states.get(id)?.state !== state)
  for (const { id } of now) states.delete(id)
  return [...fresh, ...states.values()]
}

const unique = (ids: readonly string[]): string[] => [...new Set(ids)]
