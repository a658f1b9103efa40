import { type UrlList, UrlListBuilder } from '../../base/url-list.ts'
import { archivedAmong } from '../../db/archived-pages.ts'
import type { Database } from '../../db/database.ts'

/** A list without what is archived already. */
export interface NewUrls {
  /** Undefined: all of it is archived. */
  readonly list: UrlList | undefined
  readonly archived: number
  /** The folder of a copy, relative to the data dir. */
  readonly copy?: string | undefined
}

/** The URLs of a list that have no copy here. */
export async function newUrls(db: Database, list: UrlList): Promise<NewUrls> {
  /** Positions in the list. */
  const archived = new Set<number>()
  let copy: string | undefined
  let begin = 0
  for (const { urls: text } of list.parts()) {
    const urls = text.split('\n')
    const copies = await archivedAmong(db, urls)
    for (const at of copies.keys()) archived.add(begin + at)
    copy ??= copies.values().next().value
    begin += urls.length
  }
  if (archived.size === 0) return { list, archived: 0 }
  const builder = new UrlListBuilder()
  let place = 0
  for (const { url, details } of list) {
    if (!archived.has(place)) builder.add(url, details)
    place += 1
  }
  return { list: builder.list(), archived: archived.size, copy }
}
