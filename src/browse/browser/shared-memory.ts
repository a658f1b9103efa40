import { accessSync, constants, statfsSync } from 'node:fs'

/** With less at the start, tabs crash at some point; Docker gives 64 MB. */
const ENOUGH = 256 * 1024 * 1024
/** With less left, they crash soon: the picture of a long page takes 90 MB. */
const LEAST = 96 * 1024 * 1024

/**
 * Whatever filled it once, such as the pages of a crawl, does so again, however much is free when a browser has ended.
 */
let wasFull = false

/** The arguments that a browser needs on a machine with little or no shared memory. */
export const memoryArguments = (): string[] => (wasFull || freeBytes() < ENOUGH ? ['--disable-dev-shm-usage'] : [])

/** Whether shared memory has run low, now or before, for a browser that was started when there was enough. */
export function lacksSharedMemory(): boolean {
  wasFull ||= freeBytes() < LEAST
  return wasFull
}

function freeBytes(): number {
  try {
    accessSync('/dev/shm', constants.W_OK)
    const { bavail, bsize } = statfsSync('/dev/shm')
    return bavail * bsize
  } catch {
    return 0
  }
}
