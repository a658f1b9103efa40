import { picturesOf } from '../db/archived-pages.ts'
import type { Home } from '../db/home.ts'
import type { ListedSnapshot } from '../db/lists/listings.ts'
import { meaningsIn } from '../db/meanings.ts'
import { otherNodes } from '../db/nodes.ts'
import type { WorkStatus } from '../db/tables.ts'
import type { LineHead, LineRest } from './index-line.ts'
import { entryOf } from './model/entry.ts'

/** What a list shows of a page that is found by its id, which is its `path`. */
export interface ListedEntry extends LineRest, Pick<LineHead, 'seconds' | 'outcome' | 'tags'> {
  /** A word for its state, while it has no outcome: then it counts from when it was added. */
  readonly state: string
}

const STATES: Readonly<Record<WorkStatus, string>> = {
  queued: 'Waiting',
  started: 'In work',
  paused: 'Paused',
  sealed: '',
}

/** What a list shows of these pages, whatever their state. */
export async function listedEntries(
  home: Pick<Home, 'db' | 'dataDir' | 'dataDirId'>,
  rows: readonly ListedSnapshot[],
): Promise<ListedEntry[]> {
  const { db, dataDir } = home
  const pictures = await picturesOf(
    db,
    rows.map(({ id }) => id),
  )
  const meanings = await meaningsIn(db)
  const nodeOf = await otherNodes(home, rows)
  return rows.map((row) => {
    const known = {
      ...row,
      meanings,
      node: nodeOf(row),
      sealed_at: row.status_changed_at,
      pictures: pictures.get(row.id) ?? [],
    }
    const { sealedAt, outcome, tags, cause, httpStatus, icon, picture, size, url, title, text, node } = entryOf(
      dataDir,
      0,
      row.crawl_id,
      known,
    )
    return {
      ...{ outcome: outcome ?? '', state: STATES[row.status], tags, icon, picture, size, url, text, node },
      path: row.id,
      seconds: Math.floor((row.status === 'sealed' ? sealedAt : row.created_at).getTime() / 1000),
      status: String(httpStatus ?? ''),
      cause: cause ?? '',
      title: title ?? '',
    }
  })
}
