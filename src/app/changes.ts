import { databaseOid, MOST_CHANGES, type Moment, momentOf } from '../db/changes.ts'
import { serverIdentity } from '../db/server-identity.ts'
import type { Archive } from './archive.ts'

/** What changed between two looks. */
export interface Changes {
  /** Of any page that is in the archive. */
  readonly archive: boolean
  /** Pages, by id. */
  readonly pages: readonly string[]
  /** Crawls, by id: they, or any of their pages. */
  readonly crawls: readonly string[]
  /** Who works, or on what. */
  readonly processes: boolean
}

type Of = Pick<Archive, 'home'>

/** Looks at an archive again and again, and says each time what is different. Nobody tells it: it costs who asks. */
export class Watch {
  readonly #archive: Of
  #last: Moment | undefined
  /** Changes that were told, and may be read again while an older transaction runs. */
  #told: ReadonlySet<string> = new Set()

  constructor(archive: Of) {
    this.#archive = archive
  }

  /** Is any page in work, as far as it has looked? */
  get isWorking(): boolean {
    return (this.#last?.working.length ?? 0) > 0
  }

  /** @returns undefined the first time: whatever was before is not known. Throws when the database is away */
  async look(): Promise<Changes | undefined> {
    const { db, dataDirId } = this.#archive.home
    const before = this.#last
    const now = await momentOf(db, dataDirId, before?.horizon ?? FROM_NOW)
    this.#last = now
    const told = this.#told
    this.#told = new Set(now.sealed.map(({ change }) => change))
    if (!before) return undefined
    const sealed = now.sealed.filter(({ change }) => !told.has(change))
    const isFull = now.sealed.length === MOST_CHANGES
    const working = differences(before.working, now.working)
    return {
      archive: sealed.length > 0 || isFull,
      pages: unique([...sealed.flatMap(({ id }) => id ?? []), ...working.map(({ id }) => id)]),
      crawls: unique([
        ...[...sealed, ...working].map(({ crawl_id }) => crawl_id),
        ...differences(before.crawls, now.crawls).map(({ id }) => id),
      ]),
      processes: working.length > 0 || now.processes !== before.processes,
    }
  }
}

/** The first look is for the horizon alone: no transaction has this number yet. */
const FROM_NOW = '18446744073709551615'

/**
 * Which database this is: another one after a restore or a failover, and what was seen of the one before tells nothing.
 */
export async function databaseIdentity({ home }: Of): Promise<string> {
  const [server, database] = [await serverIdentity(home.db), await databaseOid(home.db)]
  return [server ?? '', database].join('-').replace(/[^\w-]/g, '_')
}

/** What is in one list and not, or not the same, in the other. */
function differences<Row extends { readonly id: string; readonly state: string }>(
  before: readonly Row[],
  now: readonly Row[],
): Row[] {
  const states = new Map(before.map((row) => [row.id, row]))
  const fresh = now.filter(({ id, state }) => states.get(id)?.state !== state)
  for (const { id } of now) states.delete(id)
  return [...fresh, ...states.values()]
}

const unique = (ids: readonly string[]): string[] => [...new Set(ids)]
