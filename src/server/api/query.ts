import { UsageError } from '../../base/errors.ts'

const STANDARD = 100
const MOST = 1_000

/** The parameters of a list in a URL. */
export interface Query {
  /** Several values of one name count as one, separated by commas, as on the command line. */
  get(name: string): string | undefined
  /** Whether it is given, with or without a value. */
  has(name: string): boolean
  /** At most this many items. */
  readonly limit: number
  /** The same URL, for what comes after this cursor. */
  next(cursor: string): string
}

/** Parses the query of a URL. Throws UsageError for an unknown name, and for an invalid limit. */
export function queryOf(url: string, names: readonly string[]): Query {
  const { pathname, searchParams } = new URL(url)
  const unknown = [...searchParams.keys()].find((name) => ![...names, 'n', 'below'].includes(name))
  if (unknown !== undefined)
    throw new UsageError(`there is no filter "${unknown}": known are ${[...names, 'n', 'below'].join(', ')}`)
  const get = (name: string) => searchParams.getAll(name).join() || undefined
  const limit = Number(get('n') ?? STANDARD)
  if (!Number.isInteger(limit) || limit < 1 || limit > MOST)
    throw new UsageError(`n=${get('n')}: it takes a whole number from 1 to ${MOST}`)
  return {
    get,
    has: (name) => searchParams.has(name),
    limit,
    next: (cursor) => {
      const query = new URLSearchParams(searchParams)
      query.set('below', cursor)
      return `${pathname}?${query}`
    },
  }
}
