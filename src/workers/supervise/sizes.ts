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
