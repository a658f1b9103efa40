import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '../../base/errors.ts'
import { madeAt } from '../../base/ids.ts'

const DAY_MS = 86_400_000

/**
 * Finds the folders of pages or crawls by their ids alone: `archive/<kind>/<day>/<host>/<id>`. An id tells its day; its
 * folder may have been named a moment later, on the next one.
 * @returns paths below the data dir, by id; those that are not there are missing
 */
export async function foldersOf(
  dataDir: string,
  kind: 'crawls' | 'snapshots',
  ids: readonly string[],
): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (const [day, wanted] of byDay(ids))
    for (const host of await namesIn(join(dataDir, 'archive', kind, day))) {
      const path = `archive/${kind}/${day}/${host}`
      for (const id of await namesIn(join(dataDir, path))) if (wanted.has(id)) found.set(id, `${path}/${id}`)
    }
  return found
}

function byDay(ids: readonly string[]): Map<string, Set<string>> {
  const days = new Map<string, Set<string>>()
  for (const id of ids)
    for (const offset of [0, DAY_MS]) {
      const day = new Date(madeAt(id).getTime() + offset).toISOString().slice(0, 10).replaceAll('-', '')
      days.set(day, (days.get(day) ?? new Set()).add(id))
    }
  return days
}

/** None where there is no such folder. */
async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) return []
    throw error
  }
}
