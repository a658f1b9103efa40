import { availableParallelism } from 'node:os'
import type { HookSettings } from '../hooks/discover.ts'

/** The seeds' cap on workers of one kind (MAX_CRAWL_WORKERS and MAX_SNAPSHOT_WORKERS: 8), below it what the machine's cores can feed. */
const CAP = 8

/**
 * How many crawls are worked on at once.
 * @param pages how many pages may be in work at once over all crawls: each crawl needs one
 */
export function crawlWorkers(settings: HookSettings, pages = Number.POSITIVE_INFINITY): number {
  return Math.min(positive(settings['MAX_CRAWL_WORKERS']) ?? clamp(availableParallelism(), 1, CAP), pages)
}

/** How many snapshots of one crawl are archived at once. */
export function snapshotWorkers(settings: HookSettings): number {
  return mostSnapshotWorkers(settings) ?? clamp(availableParallelism(), 2, CAP)
}

/** The setting, where there is one, also bounds a share of the pages of a runner. */
export function mostSnapshotWorkers(settings: HookSettings): number | undefined {
  return positive(settings['MAX_SNAPSHOT_WORKERS'])
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high)
}

function positive(text: string | undefined): number | undefined {
  const value = Number(text)
  return Number.isInteger(value) && value > 0 ? value : undefined
}
