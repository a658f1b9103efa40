import { UsageError } from '../../base/errors.ts'

const STANDARD = 100
const MOST = 1_000

/** What an address asks of a list. */
export interface Query {
  /** Several values of one name are one, separated by commas, as on the command line. */
  get(name: string): string | undefined
  /** Is it there, with or without a value? */
  has(name: string): boolean
  /** So many items, at most. */
  readonly limit: number
  /** The same address, for what comes after this cursor. */
  next(cursor: string): string
}

/** Reads the query of an address. Throws UsageError for a name that is none of these, and for a limit that is none. */
export function queryOf(url: string, names: readonly string[]): Query {
  const { pathname, searchParams } = new URL(url)
  const unknown = [...searchParams.keys()].find((name) => ![...names, 'n', 'below'].includes(name))
  if (unknown !== undefined)
    throw new UsageError(`there is no filter "${unknown}": it takes ${[...names, 'n', 'below'].join(', ')}`)
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
