import { accessSync, constants, statfsSync } from 'node:fs'

/** With less of it in the beginning, tabs crash some day; Docker gives 64 MB. */
const ENOUGH = 256 * 1024 * 1024
/** With less of it left, they crash soon: the picture of a long page takes 90 MB. */
const LEAST = 96 * 1024 * 1024

/** What filled it once, such as the pages of a crawl, does so again, however much is free when a browser has ended. */
let wasFull = false

/** What a browser needs on a machine with little shared memory, or none. */
export const memoryArguments = (): string[] => (wasFull || freeBytes() < ENOUGH ? ['--disable-dev-shm-usage'] : [])

/** Is there, or was there, hardly any shared memory left, for a browser that was started when there was some? */
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
