import { availableParallelism } from 'node:os'
import type { HookSettings } from '../hooks/discover.ts'

/** The seeds' cap on workers of one kind (MAX_CRAWL_WORKERS and MAX_SNAPSHOT_WORKERS: 8), below it what the machine's cores can feed. */
const CAP = 8

/** How many crawls are worked on at once. */
export function crawlWorkers(settings: HookSettings): number {
  return positive(settings['MAX_CRAWL_WORKERS']) ?? clamp(availableParallelism(), 1, CAP)
}

/** How many snapshots of one crawl are archived at once. */
export function snapshotWorkers(settings: HookSettings): number {
  return positive(settings['MAX_SNAPSHOT_WORKERS']) ?? clamp(availableParallelism(), 2, CAP)
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high)
}

function positive(text: string | undefined): number | undefined {
  const value = Number(text)
  return Number.isInteger(value) && value > 0 ? value : undefined
}
