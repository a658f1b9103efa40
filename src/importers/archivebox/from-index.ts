import type { DatabaseSync } from 'node:sqlite'
import { dateOf } from '../dates.ts'
import { columnsOf, copyOfSqlite } from '../sqlite.ts'
import { foldersOf } from './folders.ts'
import { type SourceResult, type SourceSnapshot, UNKNOWN_TIME } from './snapshot.ts'

type Row = Readonly<Record<string, string | number | null>>

/**
 * The snapshots in a collection's `index.sqlite3`, of 0.7 to 0.9, crawl by crawl. Throws an Error when it is none. An
 * untrusted database may keep SQLite busy without end: so `read-index.ts` reads it in a separate process.
 */
export function* fromIndex(file: string): Generator<SourceSnapshot> {
  const db = copyOfSqlite(file)
  try {
    yield* snapshotsIn(db)
  } finally {
    db.close()
  }
}

/** Throws when there is no such table; a view of that name could be anything. */
function mustHave(db: DatabaseSync, table: string): void {
  if (columnsOf(db, table).size === 0) throw new Error(`it has no table ${table}`)
}

function* snapshotsIn(db: DatabaseSync): Generator<SourceSnapshot> {
  const has = columnsOf(db, 'core_snapshot')
  if (!has.has('timestamp')) throw new Error('not the index of an ArchiveBox collection')
  const column = (names: readonly string[], otherwise: string) => {
    const name = names.find((each) => has.has(each))
    return name === undefined ? otherwise : `s.${name}`
  }
  const hasCrawls = has.has('crawl_id')
  if (hasCrawls) for (const table of ['crawls_crawl', 'auth_user']) mustHave(db, table)
  const all = db.prepare(`
    select s.id, s.url, s.timestamp, s.title, ${column(['bookmarked_at', 'added'], 'null')} as bookmarked,
      ${column(['downloaded_at', 'updated'], 'null')} as saved, ${column(['notes'], `''`)} as notes,
      ${column(['depth'], '0')} as depth, ${hasCrawls ? 's.crawl_id, u.username' : `'' as crawl_id, null as username`}
    from core_snapshot s
    ${hasCrawls ? 'left join crawls_crawl c on c.id = s.crawl_id left join auth_user u on u.id = c.created_by_id' : ''}
    order by crawl_id, s.timestamp`)
  const tags = tagsIn(db, has)
  const results = resultsIn(db)
  for (const row of all.iterate() as Iterable<Row>) {
    const id = String(row['id'])
    const bookmarkedAt = dateOf(row['bookmarked']) ?? dateOf(row['timestamp']) ?? UNKNOWN_TIME
    const url = String(row['url'])
    yield {
      id,
      crawl: String(row['crawl_id'] ?? ''),
      url,
      title: row['title'] === null ? null : String(row['title']),
      tags: tags(id),
      notes: String(row['notes'] ?? ''),
      depth: Number(row['depth'] ?? 0),
      bookmarkedAt,
      savedAt: dateOf(row['saved']),
      folders: foldersOf({ id, url, timestamp: String(row['timestamp']), user: row['username'], bookmarkedAt }),
      results: results(id),
    }
  }
}

/** Tags are rows of their own; before 0.6 a column. */
function tagsIn(db: DatabaseSync, has: ReadonlySet<string>): (id: string) => string[] {
  if (columnsOf(db, 'core_snapshot_tags').size === 0) {
    if (!has.has('tags')) return () => []
    const own = db.prepare('select tags from core_snapshot where id = ?')
    return (id) => String(own.get(id)?.['tags'] ?? '').split(',')
  }
  mustHave(db, 'core_tag')
  const tags = db.prepare(`
    select t.name from core_snapshot_tags st join core_tag t on t.id = st.tag_id where st.snapshot_id = ? order by 1`)
  return (id) => tags.all(id).map(({ name }) => String(name))
}

function resultsIn(db: DatabaseSync): (id: string) => SourceResult[] {
  const has = columnsOf(db, 'core_archiveresult')
  if (has.size === 0) return () => []
  const [plugin, hook, output] = has.has('plugin')
    ? ['plugin', 'hook_name', 'output_str']
    : ['extractor', `''`, 'output']
  const results = db.prepare(`
    select ${plugin} as plugin, ${hook} as hook, status, ${output} as output, start_ts, end_ts
    from core_archiveresult where snapshot_id = ? order by start_ts`)
  return (id) =>
    (results.all(id) as Row[]).map((row) => ({
      plugin: String(row['plugin']),
      hook: String(row['hook'] ?? ''),
      status: String(row['status']),
      output: String(row['output'] ?? ''),
      start: dateOf(row['start_ts']),
      end: dateOf(row['end_ts']),
    }))
}
