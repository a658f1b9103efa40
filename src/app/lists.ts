import { pulled } from '../base/pulled.ts'
import type { Visit } from '../db/each-row.ts'
import { eachListed, type Wanted } from '../db/lists/each-listed.ts'
import type { Listing } from '../db/lists/listings.ts'
import { eachProcess, type ProcessFilters, listProcesses as someProcesses } from '../db/process-rows.ts'
import type { ProcessRow } from '../db/processes.ts'
import type { Archive } from './archive.ts'
import type { Call } from './call.ts'

/** Rows in batches, read as the reader asks for more. */
export type Rows<Row> = AsyncGenerator<readonly Row[], void, void>

type Of = Pick<Archive, 'home'>
type Stop = Pick<Call, 'signal'>

/** Crawls, pages or results that match every filter, newest first. Throws the reason of an aborted `signal`. */
export function listRows<Row extends { readonly id: string }>(
  { home }: Of,
  listing: Listing<Row>,
  wanted: Wanted,
  stop: Stop = {},
): Rows<Row> {
  return read(async (visit) => void (await eachListed(home.db, listing, wanted, visit)), stop)
}

/** The same for processes of this data dir. */
export function listProcesses(
  { home }: Of,
  { filters, limit }: { readonly filters: ProcessFilters; readonly limit?: number | undefined },
  stop: Stop = {},
): Rows<ProcessRow> {
  return read<ProcessRow>(async (visit) => {
    if (limit === undefined) await eachProcess(home, filters, visit)
    else await visit(await someProcesses(home, filters, limit))
  }, stop)
}

const read = <Row>(each: (visit: Visit<Row>) => Promise<void>, { signal }: Stop): Rows<Row> =>
  pulled((give) =>
    each((rows) => {
      signal?.throwIfAborted()
      return give(rows)
    }),
  )
