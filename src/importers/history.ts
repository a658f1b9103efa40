import { dateOf } from './dates.ts'
import type { Found } from './entry.ts'
import { copyOfSqlite, tablesOf } from './sqlite.ts'

const BATCH = 1_000

interface Visit {
  readonly url: string
  readonly title: string | null
  readonly at: number | bigint | null
  readonly tags: string | null
}

/** Tags are folders, below the one that always has this name. */
const FIREFOX = `
  select p.url, coalesce(
      (select b.title from moz_bookmarks b where b.fk = p.id and b.title <> '' limit 1), p.title) as title,
    coalesce((select min(b.dateAdded) from moz_bookmarks b where b.fk = p.id), p.last_visit_date) as at,
    (select json_group_array(t.title) from moz_bookmarks b join moz_bookmarks t on t.id = b.parent
      join moz_bookmarks root on root.id = t.parent
      where b.fk = p.id and root.guid = 'tags________') as tags
  from moz_places p
  where p.url not like 'place:%'
    and (p.visit_count > 0 or exists (select 1 from moz_bookmarks b where b.fk = p.id))`
const CHROMIUM = `
  select url, title, last_visit_time as at, null as tags from urls where hidden = 0`

/**
 * The visited pages and bookmarks in a browser's history: Firefox's `places.sqlite`, Chromium's `History`. Reads a
 * copy, since the browser may be running. Throws an Error for another database.
 */
export async function* history(file: string): AsyncGenerator<Found[]> {
  const db = copyOfSqlite(file)
  try {
    const tables = tablesOf(db)
    const query = tables.has('moz_places') ? FIREFOX : tables.has('urls') ? CHROMIUM : undefined
    if (query === undefined) throw new Error('a database, but not the history of Firefox or Chromium')
    const visits = db.prepare(query)
    visits.setReadBigInts(true)
    let found: Found[] = []
    for (const row of visits.iterate()) {
      const { url, title, at, tags } = row as unknown as Visit
      const names = tags === null ? [] : (JSON.parse(tags) as string[])
      found.push({ url, title: title ?? undefined, tags: names, addedAt: dateOf(Number(at ?? 0)) })
      if (found.length < BATCH) continue
      yield found
      found = []
    }
    yield found
  } finally {
    db.close()
  }
}
