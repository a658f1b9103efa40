import { Readable } from 'node:stream'
import type { Entry, Found } from '../../src/importers/entry.ts'
import type { Format } from '../../src/importers/formats.ts'
import { readEntries } from '../../src/importers/read.ts'

/** The entries of a list that arrives in pieces of this many bytes. */
export async function entriesIn(list: string | Buffer, format?: Format, pieces = 65_536): Promise<Found[]> {
  const bytes = Buffer.from(list as string)
  const chunks = Array.from({ length: Math.ceil(bytes.length / pieces) }, (_, n) =>
    bytes.subarray(n * pieces, (n + 1) * pieces),
  )
  const found: Found[] = []
  for await (const some of readEntries(Readable.from(chunks), format)) found.push(...some)
  return found
}

/** An entry as a row, without empty fields. */
export function row(found: Found): unknown {
  if ('broken' in found) return { broken: found.line }
  const { url, title, tags, notes, addedAt } = found as Entry
  const kept = { url, title: title?.trim(), tags, notes: notes?.trim(), at: addedAt?.toISOString() }
  return Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined && value.length > 0))
}
