import { UsageError } from '../../base/errors.ts'
import type { Home } from '../../db/home.ts'
import { idsInRanges, type Model } from '../../db/listings.ts'
import { isUuid } from '../ids.ts'

const LOWEST = '00000000-0000-0000-0000-000000000000'
const HIGHEST = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
const SHORTEST = 8

/**
 * Every id that begins with these characters. Throws UsageError for what cannot be the beginning of one, and for less
 * than 8 digits.
 */
export function idRange(text: string): { low: string; high: string } {
  const prefix = text.toLowerCase()
  const low = prefix + LOWEST.slice(prefix.length)
  if (prefix.length >= SHORTEST && isUuid(low)) return { low, high: prefix + HIGHEST.slice(prefix.length) }
  throw new UsageError(
    `not an id: ${text}`,
    `ids look like 01994f6e-0c1a-7c3e-9d55-0123456789ab; their first ${SHORTEST} digits or more will do`,
  )
}

/**
 * The ids of the rows that were meant: whole ids, or beginnings that only one has. Throws UsageError for one that
 * nothing, or more than one, has.
 */
export async function findIds(home: Home, model: Model, texts: readonly string[]): Promise<string[]> {
  const found = await idsInRanges(home.db, model, texts.map(idRange))
  const ids = found.map((candidates, index) => {
    const [id, another] = candidates
    if (id === undefined)
      throw new UsageError(`there is no ${model.noun} ${texts[index]}`, `archivebox-ts ${model.noun} list shows them`)
    if (another !== undefined)
      throw new UsageError(
        `${texts[index]} is not the beginning of one ${model.noun} only`,
        `give more of it: ${candidates.join(', ')}`,
      )
    return id
  })
  return [...new Set(ids)]
}
