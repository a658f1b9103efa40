import { join } from 'node:path'
import { urlDetails } from '../../base/url-details.ts'
import { archivableUrl } from '../../base/urls.ts'
import { outputDir } from '../../db/crawls.ts'
import type { Home } from '../../db/home.ts'
import { meaningsIn } from '../../db/meanings.ts'
import { placeOf } from '../../importers/archivebox/folders.ts'
import type { SourceSnapshot } from '../../importers/archivebox/snapshot.ts'
import { type AdoptedPage, adoptedAmong } from '../../machines/adopt.ts'
import { judgeResults } from '../../machines/judge.ts'
import { writeSnapshotPages } from '../index/index-pages.ts'
import { adoptInto } from './adopt-crawls.ts'
import { adoptedResults } from './adopted-results.ts'
import { type Adoption, type Collection, filesOf, idOf } from './collection.ts'
import { takeFiles } from './take-files.ts'

/** Imports one snapshot with its files. One without a copy is noted as open. */
export async function adoptSnapshot(
  home: Home,
  collection: Collection,
  crawlId: string | undefined,
  snapshot: SourceSnapshot,
  adoption: Adoption,
): Promise<void> {
  const { title, tags, notes, depth, bookmarkedAt, savedAt } = snapshot
  const url = archivableUrl(snapshot.url)
  const source = filesOf(collection, snapshot)
  const details = urlDetails({ title: title ?? undefined, tags, notes, addedAt: bookmarkedAt })
  if (!source || crawlId === undefined) {
    adoption.open.add(url, details)
    return
  }
  const id = idOf(snapshot)
  // Its folder is emptied below.
  if ((await adoptedAmong(home.db, [id])).size > 0) throw new Error('another snapshot of the collection has its id')
  const dir = outputDir('snapshots', url, id, bookmarkedAt)
  const root = join(home.dataDir, dir)
  const taken = await takeFiles(source.path, root, collection.byLinks, (name, isFolder) =>
    placeOf(name, isFolder, source.isLegacy),
  )
  const results = adoptedResults(snapshot, taken.files)
  const latest = new Map(results.map((result) => [`${result.plugin}/${result.hook_name}`, result]))
  const judged = [...latest.values()].map(({ files, ...result }) => ({
    ...result,
    output_json: null,
    has_files: Object.keys(files).length > 0,
  }))
  const page: AdoptedPage = {
    ...judgeResults(root, judged, await meaningsIn(home.db)),
    id,
    crawlId,
    url,
    title: details?.title ?? null,
    depth,
    tags: details?.tags ?? [],
    notes: details?.notes ?? null,
    bookmarkedAt,
    sealedAt: savedAt ?? bookmarkedAt,
    outputDir: dir,
    results,
  }
  const crawl = await adoptInto(home, collection, page)
  adoption.crawls.add(crawl)
  await writeSnapshotPages(home, id)
  adoption.taken += 1
  adoption.linked += taken.linked
  adoption.copied += taken.copied
  adoption.bytes += taken.bytes
  adoption.left.push(...taken.left)
}
