import { databaseOid, MOST_CHANGES, type Moment, momentOf, type RowState, type Watched } from '../db/changes.ts'
import { serverIdentity } from '../db/server-identity.ts'
import type { Archive } from './archive.ts'

export type { Watched } from '../db/changes.ts'

/** What changed between two looks. */
export interface Changes {
  /** Any page that is in the archive, or a crawl that came, went, began or ended. */
  readonly archive: boolean
  /** Pages, by id. */
  readonly pages: readonly string[]
  /** Crawls, by id: they, or any of their pages. */
  readonly crawls: readonly string[]
  /** Who works, or on what. */
  readonly processes: boolean
}

type Of = Pick<Archive, 'home'>

/** Rows of one kind that are looked at for themselves: more are not, and are told of when they are sealed. */
const MOST_WATCHED = 500

/** Looks at an archive again and again, and says each time what is different. Nobody tells it: it costs who asks. */
export class Watch {
  readonly #archive: Of
  #last: Moment | undefined
  #identity = ''
  #watched: Watched = { pages: [], crawls: [] }
  /** Changes that were told, and may be read again while an older transaction runs. */
  #told: ReadonlySet<string> = new Set()

  constructor(archive: Of) {
    this.#archive = archive
  }

  /** Is any page in work, as far as it has looked? */
  get isWorking(): boolean {
    return (this.#last?.working.length ?? 0) > 0
  }

  /**
   * Which database it saw last: another one after a restore or a failover, and what was seen of the one before tells
   * nothing. Empty before the first look.
   */
  get identity(): string {
    return this.#identity
  }

  /**
   * @param asked what somebody looks at: of these it is told whatever changes, of others what ends or is worked on.
   * What is open and was not looked at the last time counts as changed
   * @returns undefined when anything may have changed: the first time, after more changes than one look reads, and when
   * the server began anew. Throws when the database is away
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
      // One that is not watched any more did not change by that.
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

/** The first look is for the horizon alone: no transaction has this number yet. */
const FROM_NOW = '18446744073709551615'

async function databaseIdentity({ home }: Of): Promise<string> {
  const [server, database] = [await serverIdentity(home.db), await databaseOid(home.db)]
  return [server ?? '', database].join('-').replace(/[^\w-]/g, '_')
}

/** What is in one list and not, or not the same, in the other. */
function differences<Row extends RowState>(before: readonly Row[], now: readonly Row[]): Row[] {
  const states = new Map(before.map((row) => [row.id, row]))
  const fresh = now.filter(({ id, state }) => states.get(id)?.state !== state)
  for (const { id } of now) states.delete(id)
  return [...fresh, ...states.values()]
}

const unique = (ids: readonly string[]): string[] => [...new Set(ids)]
