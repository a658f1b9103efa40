import { picturesOf } from '../db/archived-pages.ts'
import type { Home } from '../db/home.ts'
import type { ListedSnapshot } from '../db/lists/listings.ts'
import { meaningsIn } from '../db/meanings.ts'
import type { WorkStatus } from '../db/tables.ts'
import { entryOf } from './model/entry.ts'

/** What a list shows of a page that is found by its id. */
export interface ListedEntry {
  /** Its id. */
  readonly path: string
  /** When it was sealed, or added, since 1970. */
  readonly seconds: number
  readonly outcome: 'archived' | 'partial' | 'failed' | ''
  /** A word for its state, while it has no outcome. */
  readonly state: string
  readonly tags: readonly string[]
  /** Of HTTP; '': none. */
  readonly status: string
  readonly cause: string
  /** Relative to its folder; '': none. */
  readonly icon: string
  readonly picture: string
  readonly size: number
  readonly url: string
  readonly title: string
  /** The beginning of its text. */
  readonly text: string
}

const STATES: Readonly<Record<WorkStatus, string>> = {
  queued: 'Waiting',
  started: 'In work',
  paused: 'Paused',
  sealed: '',
}

/** What a list shows of these pages, whatever their state. */
export async function listedEntries(
  { db, dataDir }: Pick<Home, 'db' | 'dataDir'>,
  rows: readonly ListedSnapshot[],
): Promise<ListedEntry[]> {
  const pictures = await picturesOf(
    db,
    rows.map(({ id }) => id),
  )
  const meanings = await meaningsIn(db)
  return rows.map((row) => {
    const known = { ...row, meanings, sealed_at: row.status_changed_at, pictures: pictures.get(row.id) ?? [] }
    const { sealedAt, outcome, tags, cause, httpStatus, icon, picture, size, url, title, text } = entryOf(
      dataDir,
      0,
      row.crawl_id,
      known,
    )
    return {
      ...{ outcome: outcome ?? '', state: STATES[row.status], tags, icon, picture, size, url, text },
      path: row.id,
      seconds: Math.floor((row.status === 'sealed' ? sealedAt : row.created_at).getTime() / 1000),
      status: String(httpStatus ?? ''),
      cause: cause ?? '',
      title: title ?? '',
    }
  })
}
