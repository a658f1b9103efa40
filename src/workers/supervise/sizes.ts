import { availableParallelism } from 'node:os'
import { type Config, MOST_WORKERS } from '../../base/config.ts'

/**
 * How many crawls run at once.
 * @param pages the limit of pages at work over all crawls; each crawl needs one
 */
export function crawlWorkers(config: Config, pages = Number.POSITIVE_INFINITY): number {
  return Math.min(config.MAX_CRAWL_WORKERS, pages)
}

/**
 * How many snapshots of one crawl are archived at once: one more than there are cores, since a page that waits for its
 * site, or for the disk, leaves its core to another.
 */
export function snapshotWorkers(config: Config): number {
  return config.MAX_SNAPSHOT_WORKERS ?? Math.min(availableParallelism() + 1, MOST_WORKERS)
}

/** A page may end its worker, and those beside it lose an attempt: no more of them at once. */
const MOST_SIDE_BY_SIDE = 4

/**
 * How many of the pages that are archived at once share a process. One for every two cores keeps these busy; each takes
 * 30 MB, its connection 10 in the server, and CPU until V8 has compiled for it what the others have, too.
 * @param pages how many are archived at once
 */
export function pagesSideBySide(pages: number, cores = availableParallelism()): number {
  return Math.min(Math.ceil(pages / Math.max(1, Math.floor(cores / 2))), MOST_SIDE_BY_SIDE)
}
