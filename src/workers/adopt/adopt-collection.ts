import { existsSync, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { AppError, messageOf } from '../../base/errors.ts'
import { FileLock } from '../../base/file-lock.ts'
import { placeInside } from '../../base/inside.ts'
import { urlDetails } from '../../base/url-details.ts'
import { UrlListBuilder } from '../../base/url-list.ts'
import { archivableUrl } from '../../base/urls.ts'
import { crawlById, folderOfCrawl, outputDir } from '../../db/crawls.ts'
import type { Home } from '../../db/home.ts'
import { snapshotById } from '../../db/snapshots.ts'
import { placeOf } from '../../importers/archivebox/folders.ts'
import type { SourceSnapshot } from '../../importers/archivebox/snapshot.ts'
import {
  type AdoptedPage,
  adoptCrawl,
  adoptedAmong,
  adoptedId,
  adoptPage,
  type PlaceOfPage,
} from '../../machines/adopt.ts'
import { judgeResults } from '../../machines/judge.ts'
import { writeArchivePage, writeCrawlPage, writeSnapshotPages } from '../index/index-pages.ts'
import { adoptedResults } from './adopted-results.ts'
import { takeFiles } from './take-files.ts'

/** Snapshots between two looks at what is here already. */
const BATCH = 200
/** How long another adoption may take to end, that is about to. */
const LOCK_MS = 1_000

/** A collection of ArchiveBox. */
export interface Collection {
  /** The real path of its top folder. */
  readonly folder: string
  readonly label: string
  /** Its snapshots, crawl by crawl, as often as they are asked for. */
  readonly snapshots: () => Iterable<SourceSnapshot> | AsyncIterable<SourceSnapshot>
  /** Files are taken by hard links where they work. */
  readonly byLinks: boolean
}

/** What became of a collection. */
export class Adoption {
  read = 0
  taken = 0
  /** Here from an earlier time. */
  before = 0
  linked = 0
  copied = 0
  bytes = 0
  /** Snapshots that could not be taken, each with the reason. */
  readonly refused: string[] = []
  /** Links and special files among the files, which are not taken. */
  readonly left: string[] = []
  /** What has no copy there, with what is known of it. */
  readonly open = new UrlListBuilder()
  readonly crawls = new Set<string>()
}

/**
 * Where the files of a snapshot are, and whether they lie as they did before 0.9; undefined: there are none. Throws
 * AppError where its rows say that they lie elsewhere than in the collection.
 */
export function filesOf(
  collection: Collection,
  { folders }: SourceSnapshot,
): { path: string; isLegacy: boolean } | undefined {
  for (const folder of folders) {
    const path = placeInside(collection.folder, folder)
    if (path === undefined || !lstatSync(path).isDirectory()) continue
    const isLegacy = !existsSync(join(path, 'index.jsonl'))
    const entries = readdirSync(path, { withFileTypes: true })
    if (entries.some((entry) => placeOf(entry.name, entry.isDirectory(), isLegacy) !== undefined))
      return { path, isLegacy }
  }
  return undefined
}

/**
 * Takes over the snapshots of a collection with their files, which stay there, too. What is here already stays as it
 * is, so that it may be begun again after an interruption. One at a time: it empties the folders that it is about to
 * fill. Throws AppError when another process is at it.
 * @param onProgress called now and then
 */
export async function adoptCollection(
  home: Home,
  collection: Collection,
  onProgress: (adoption: Adoption) => void,
): Promise<Adoption> {
  const lock = new FileLock(join(home.dataDir, '.adoption.lock'))
  try {
    if (!(await lock.exclusiveWithin(LOCK_MS)))
      throw new AppError('another process is taking over a collection into this data dir', {
        hint: 'begin again when it has ended: what it has taken is not taken twice',
      })
    return await adoptAll(home, collection, onProgress)
  } finally {
    lock.release()
  }
}

async function adoptAll(
  home: Home,
  collection: Collection,
  onProgress: (adoption: Adoption) => void,
): Promise<Adoption> {
  const adoption = new Adoption()
  const crawls = await adoptCrawls(home, collection)
  for await (const batch of batches(collection.snapshots())) {
    const here = await adoptedAmong(home.db, batch.map(idOf))
    for (const snapshot of batch) {
      adoption.read += 1
      try {
        const id = idOf(snapshot)
        const place = here.get(id)
        if (place) await mendPages(home, id, place, adoption)
        else await adopt(home, collection, crawls.get(snapshot.crawl), snapshot, adoption)
      } catch (error) {
        const reason = messageOf(error)
        adoption.refused.push(reason.includes(snapshot.url) ? reason : `${snapshot.url}: ${reason}`)
      }
    }
    onProgress(adoption)
  }
  for (const id of adoption.crawls) {
    const crawl = await crawlById(home.db, id)
    if (crawl) await writeCrawlPage(home, crawl, crawl.status)
  }
  await writeArchivePage(home)
  return adoption
}

/** Writes the pages of a snapshot that is here, when whoever took it was interrupted before that. */
async function mendPages(home: Home, id: string, place: PlaceOfPage, adoption: Adoption): Promise<void> {
  adoption.before += 1
  adoption.crawls.add(place.crawl_id)
  if (existsSync(join(home.dataDir, place.output_dir, 'index.html'))) return
  const [snapshot, crawlDir] = [await snapshotById(home.db, id), await folderOfCrawl(home.db, place.crawl_id)]
  if (snapshot?.status === 'sealed' && crawlDir) await writeSnapshotPages(home, snapshot, crawlDir)
}

const idOf = ({ id, bookmarkedAt }: SourceSnapshot) => adoptedId(`snapshot ${id}`, bookmarkedAt)

async function* batches<T>(all: Iterable<T> | AsyncIterable<T>): AsyncGenerator<T[]> {
  let batch: T[] = []
  for await (const each of all) {
    batch.push(each)
    if (batch.length < BATCH) continue
    yield batch
    batch = []
  }
  yield batch
}

/** What is wrong with a snapshot is said when its turn comes. */
function hasFiles(collection: Collection, snapshot: SourceSnapshot): boolean {
  try {
    return filesOf(collection, snapshot) !== undefined
  } catch {
    return false
  }
}

/** Adds the crawls of a collection with the lists of what was archived in them. @returns their ids by the originals' */
async function adoptCrawls(home: Home, collection: Collection): Promise<Map<string, string>> {
  const ids = new Map<string, string>()
  let first: SourceSnapshot | undefined
  let urls = new UrlListBuilder()
  const end = async () => {
    const list = urls.list()
    const key = `crawl ${first?.crawl || `of ${first?.id}`}`
    if (first && list)
      ids.set(first.crawl, await adoptCrawl(home.db, { key, at: first.bookmarkedAt, label: collection.label, list }))
    urls.close()
    urls = new UrlListBuilder()
  }
  for await (const snapshot of collection.snapshots()) {
    if (first && snapshot.crawl !== first.crawl) {
      await end()
      first = undefined
    }
    if (!URL.canParse(snapshot.url) || !/^https?:/i.test(snapshot.url) || !hasFiles(collection, snapshot)) continue
    first ??= snapshot
    urls.add(archivableUrl(snapshot.url))
  }
  await end()
  return ids
}

async function adopt(
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
    ...(await judgeResults(root, judged)),
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
  await writeSnapshotPages(home, (await snapshotById(home.db, id))!, (await folderOfCrawl(home.db, crawl))!)
  adoption.taken += 1
  adoption.linked += taken.linked
  adoption.copied += taken.copied
  adoption.bytes += taken.bytes
  adoption.left.push(...taken.left)
}

/** Adds a page to its crawl; another page of the same URL gets a crawl of its own. @returns the crawl */
async function adoptInto(home: Home, { label }: Collection, page: AdoptedPage): Promise<string> {
  if (await adoptPage(home.db, page)) return page.crawlId
  const urls = new UrlListBuilder()
  urls.add(page.url)
  const crawl = { key: `copy ${page.id}`, at: page.bookmarkedAt, label, list: urls.list()! }
  const crawlId = await adoptCrawl(home.db, crawl)
  if (!(await adoptPage(home.db, { ...page, crawlId }))) throw new Error('another crawl has a page with its id')
  return crawlId
}
