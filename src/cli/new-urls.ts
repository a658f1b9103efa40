import { type UrlList, UrlListBuilder, urlsOfPart } from '../base/url-list.ts'
import { archivedAmong } from '../db/archived-pages.ts'
import type { Database } from '../db/database.ts'

/** A list without what is archived already. */
export interface NewUrls {
  /** Undefined: all of it is. */
  readonly list: UrlList | undefined
  readonly archived: number
  /** The folder of a copy, relative to the data dir. */
  readonly copy?: string | undefined
}

/** The URLs of a list that no copy is here of. */
export async function newUrls(db: Database, list: UrlList): Promise<NewUrls> {
  const builder = new UrlListBuilder()
  let copy: string | undefined
  for (const part of list.parts()) {
    const urls = urlsOfPart(part)
    const copies = await archivedAmong(
      db,
      urls.map(({ url }) => url),
    )
    for (const [at, { url, details }] of urls.entries()) if (!copies.has(at)) builder.add(url, details)
    copy ??= copies.values().next().value
  }
  const archived = list.total - builder.total
  return { list: archived === 0 ? list : builder.list(), archived, copy }
}
