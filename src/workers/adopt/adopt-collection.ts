import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { AppError, messageOf } from '../../base/errors.ts'
import { FileLock } from '../../base/file-lock.ts'
import type { Home } from '../../db/home.ts'
import { snapshotById } from '../../db/snapshots.ts'
import { adoptedAmong, type PlaceOfPage } from '../../machines/adopt.ts'
import { writeArchivePage, writeCrawlPage, writeSnapshotPages } from '../index/index-pages.ts'
import { adoptCrawls } from './adopt-crawls.ts'
import { adoptSnapshot } from './adopt-snapshot.ts'
import { Adoption, type Collection, idOf } from './collection.ts'

/** How many snapshots are handled between two checks of what is here already. */
const BATCH = 200
/** How long another adoption that is about to end may take. */
const LOCK_MS = 1_000

/**
 * Imports the snapshots of a collection with their files, which also stay there. What is here already stays as it is,
 * so that an interrupted import can be repeated. One at a time: it empties the folders that it is about to fill. Throws
 * AppError when another process is importing.
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
      throw new AppError('another process is importing a collection into this data dir', {
        hint: 'try again when it has ended: nothing is imported twice',
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
        else await adoptSnapshot(home, collection, crawls.get(snapshot.crawl), snapshot, adoption)
      } catch (error) {
        const reason = messageOf(error)
        adoption.refused.push(reason.includes(snapshot.url) ? reason : `${snapshot.url}: ${reason}`)
      }
    }
    onProgress(adoption)
  }
  for (const id of adoption.crawls) await writeCrawlPage(home, id)
  await writeArchivePage(home)
  return adoption
}

/** Writes the pages of an imported snapshot, when the import was interrupted before that. */
async function mendPages(home: Home, id: string, place: PlaceOfPage, adoption: Adoption): Promise<void> {
  adoption.before += 1
  adoption.crawls.add(place.crawl_id)
  if (existsSync(join(home.dataDir, place.output_dir, 'index.html'))) return
  const snapshot = await snapshotById(home.db, id)
  if (snapshot?.status === 'sealed') await writeSnapshotPages(home, id, { snapshot })
}

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
