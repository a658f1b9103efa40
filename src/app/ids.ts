import { UsageError } from '../base/errors.ts'
import type { Home } from '../db/home.ts'
import { idsInRanges, type Model } from '../db/lists/listings.ts'

/** The least digits that may stand for an id, when only one row has them. */
const SHORTEST = 6

type IdTable = Model['table'] | 'process' | 'machine' | 'schedule'

/** Whether this text could be an id, or the beginning or end of one. */
export function isPartOfId(text: string): boolean {
  const digits = text.replaceAll('-', '')
  return /^[0-9a-f]+$/i.test(digits) && digits.length >= SHORTEST && digits.length <= 32
}

/** Throws UsageError for a text that cannot be an id, or the beginning or end of one. */
export function checkIds(texts: readonly string[]): void {
  const wrong = texts.find((text) => !isPartOfId(text))
  if (wrong === undefined) return
  throw new UsageError(
    `not an id: ${wrong}`,
    `ids look like 01994f6e-0c1a-7c3e-9d55-0123456789ab; at least ${SHORTEST} of their first or last digits are enough`,
  )
}

/**
 * The ids of the rows that texts mean: full ids, or beginnings or ends that only one row has. Throws UsageError for a
 * text that matches no row, or several.
 */
export async function findIds(
  home: Home,
  model: { readonly noun: string; readonly table: IdTable },
  texts: readonly string[],
): Promise<string[]> {
  checkIds(texts)
  const found = await idsInRanges(home.db, model.table, texts.map(rangesOf))
  const ids = found.map((candidates, index) => {
    const [id, another] = candidates
    if (id === undefined)
      throw new UsageError(`there is no ${model.noun} ${texts[index]}`, `archivebox-ts ${model.noun} list shows them`)
    if (another !== undefined)
      throw new UsageError(
        `${texts[index]} matches more than one ${model.noun}`,
        `give more digits: ${candidates.join(', ')}`,
      )
    return id
  })
  return [...new Set(ids)]
}

/** The ids that a text may mean, by beginning or end: at most six. Throws UsageError for one that cannot be an id. */
export async function matchingIds({ db }: Pick<Home, 'db'>, table: IdTable, text: string): Promise<string[]> {
  checkIds([text])
  return (await idsInRanges(db, table, [rangesOf(text)]))[0] ?? []
}

/** The ranges of all ids that begin with these digits and, read backwards, of all that end with them. */
function rangesOf(text: string) {
  const digits = text.toLowerCase().replaceAll('-', '')
  const backwards = [...digits].reverse().join('')
  return { begins: rangeOf(digits), ends: rangeOf(backwards) }
}

const rangeOf = (digits: string) => ({ low: digits.padEnd(32, '0'), high: digits.padEnd(32, 'f') })
