import { type Filters, SNAPSHOTS } from '../db/lists/listings.ts'
import type { Archive } from './archive.ts'
import type { Call } from './call.ts'
import { EXPORTS, type ExportFormat, type ExportName } from './export/formats.ts'
import { listRows } from './lists.ts'

/** How many characters are yielded at once, or a few more. */
const CHUNK = 262_144

/** What is exported, and how. */
interface Wanted {
  readonly format: ExportName
  readonly filters?: Partial<Filters>
  /** At most this many pages; without it, all. */
  readonly limit?: number
}

/**
 * Pages as text, newest first, in a format that other programs and `add` can read. They are read through a cursor as
 * the reader asks for more. Throws the reason of `signal` once it aborts.
 */
export async function* exportPages(
  archive: Pick<Archive, 'home'>,
  { format, ...listed }: Wanted,
  call: Pick<Call, 'signal'> = {},
): AsyncGenerator<string, void, void> {
  const { head, page, foot }: ExportFormat = EXPORTS[format]
  let text = head
  for await (const rows of listRows(archive, SNAPSHOTS, listed, call)) {
    for (const row of rows) text += page(row)
    if (text.length < CHUNK) continue
    yield text
    text = ''
  }
  yield text + foot
}
