import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { left } from '../../base/disk-space.ts'
import { AppError, codeOf } from '../../base/errors.ts'
import { sizeText } from '../../base/words.ts'

/** What an upgrade will take. */
export interface UpgradeNeeds {
  /** Of the cluster that is copied. */
  readonly bytes: number
  /** The room that must be free beside it. */
  readonly neededBytes: number
  readonly seconds: number
}

/** A new cluster, before it has any rows, with its log. */
const EMPTY_BYTES = 150_000_000
/** Beside the new cluster, which is at most as large as the old one: the compressed rows, and the log of the copy. */
const BESIDE = 0.25
/**
 * Of the cluster: writing the rows, loading them and making the indexes. Two busy cores did 13 MB/s (100,000 pages with
 * 500,000 results, 703 MB; 674 MB lay beside it at most): most machines are done sooner than was said.
 */
const BYTES_PER_SECOND = 8_000_000
/** Two starts and stops of a server, and initdb. */
const LEAST_SECONDS = 5

/**
 * What it takes to copy a cluster that is not in use.
 * @param place the folder that will hold the new one
 * @throws AppError when the disk has less room
 */
export function upgradeNeeds(pgdata: string, place: string): UpgradeNeeds {
  const bytes = folderBytes(pgdata)
  const neededBytes = EMPTY_BYTES + bytes * (1 + BESIDE)
  const free = left(place).bytes
  if (free < neededBytes)
    throw new AppError(
      `the upgrade needs ${sizeText(neededBytes)} beside the old database, but ${sizeText(free)} are free in ${place}`,
      { hint: 'free some space and try again: nothing was changed' },
    )
  return { bytes, neededBytes, seconds: LEAST_SECONDS + bytes / BYTES_PER_SECOND }
}

/** The size of all files below a folder. */
function folderBytes(folder: string): number {
  let sum = 0
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    try {
      sum += lstatSync(join(entry.parentPath, entry.name)).size
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error
    }
  }
  return sum
}
