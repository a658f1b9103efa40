import { sql } from 'kysely'
import type { Database } from './database.ts'
import type { SnapshotRow } from './snapshots.ts'

/** A sealed page. */
export type SealedPage = Pick<SnapshotRow, 'id' | 'url' | 'title' | 'outcome' | 'cause'>

/** For how long a sealed page may not be visible yet: a long transaction commits with an early time. */
const LATE_SECONDS = 30
/** The most pages per call; the next call continues. */
const MOST_SEALED = 500

/**
 * The pages of a crawl in the order in which they end: each call returns those since the last one. It remembers only
 * the last half minute, however many pages the crawl has.
 */
export class SealedPages {
  readonly #crawlId: string
  /** By the database's clock; the first call starts a little earlier. */
  #from: Date | undefined
  #seen = new Map<string, Date>()

  constructor(crawlId: string) {
    this.#crawlId = crawlId
  }

  async look(db: Database): Promise<SealedPage[]> {
    const late = sql`make_interval(secs => ${LATE_SECONDS})`
    const { rows } = await sql<SealedPage & { at: Date; now: Date }>`
      select s.id, s.url, s.title, s.outcome, s.cause, s.status_changed_at as at, now() as now
      from snapshot s
      where in_index_order() and s.crawl_id = ${this.#crawlId} and s.status = 'sealed'
        and s.status_changed_at > coalesce(${this.#from ?? null}::timestamptz, now()) - ${late}
        and s.id <> all(${[...this.#seen.keys()]}::uuid[])
      order by s.status_changed_at limit ${sql.lit(MOST_SEALED)}`.execute(db)
    for (const { id, at } of rows) this.#seen.set(id, at)
    // When there is more, continues after the last of these; else from now.
    const last = rows.at(-1)
    if (last) this.#from = rows.length === MOST_SEALED ? last.at : last.now
    const oldest = (this.#from?.getTime() ?? 0) - LATE_SECONDS * 1_000
    for (const [id, at] of this.#seen) if (at.getTime() <= oldest) this.#seen.delete(id)
    return rows
  }
}
