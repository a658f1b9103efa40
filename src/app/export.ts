import { pulled } from '../base/pulled.ts'
import type { Home } from '../db/home.ts'
import { eachListed } from '../db/lists/each-listed.ts'
import { type Filters, SNAPSHOTS } from '../db/lists/listings.ts'
import type { Call } from './call.ts'
import { EXPORTS, type ExportFormat, type ExportName } from './export/formats.ts'

/** Characters that are given at once. */
const CHUNK = 262_144

/** What is exported, and how. */
interface Wanted {
  readonly format: ExportName
  readonly filters?: Partial<Filters>
  /** At most so many pages; all when not given. */
  readonly limit?: number
}

/**
 * Pages as text, newest first, in a format that other programs and `add` read. They are read through a cursor while the
 * reader asks for more. Throws the reason of `signal` once that is given.
 */
export async function* exportPages(
  home: Home,
  { format, ...listed }: Wanted,
  { signal }: Call = {},
): AsyncGenerator<string, void, void> {
  const { head, page, foot }: ExportFormat = EXPORTS[format]
  let text = head
  yield* pulled<string>((give) =>
    eachListed(home.db, SNAPSHOTS, listed, (row) => {
      signal?.throwIfAborted()
      text += page(row)
      if (text.length < CHUNK) return true
      const chunk = text
      text = ''
      return give(chunk)
    }),
  )
  yield text + foot
}
