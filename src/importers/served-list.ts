import { createReadStream } from 'node:fs'
import { linkOf } from '../base/urls.ts'
import { decoded, textOf } from './decode.ts'
import { formatOf } from './detect.ts'
import type { Broken, Entry } from './entry.ts'
import type { Format } from './formats.ts'

/** Tabs, line and page breaks, and the escape character of coloured logs. */
const TEXT_CONTROLS = new Set([0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x1b])
const FEEDS: ReadonlySet<Format> = new Set(['rss', 'opml'])

/** A file that a server sent, which may be a list. */
export interface ServedList {
  /** Detected from its beginning. */
  readonly format: Format
  /** Its beginning, decoded. */
  readonly start: string
}

/** The kind of list that a file may be, from its first bytes; undefined: it is no text. */
export async function listedIn(head: Buffer): Promise<ServedList | undefined> {
  // Text has few control characters; UTF-16, with its zeros, has a byte order mark.
  const isUtf16 = /^(?:\xff\xfe|\xfe\xff)/.test(head.toString('latin1', 0, 2))
  const isText = isUtf16 || !head.some((byte) => byte < 0x20 && !TEXT_CONTROLS.has(byte))
  if (!isText || head.toString('latin1', 0, 5) === '%PDF-') return undefined
  const start = await textOf(head)
  return { format: formatOf(start), start }
}

/**
 * Yields the entries of such a file with their absolute URLs, each URL once.
 * @param base its own URL, which is no entry of it
 */
export async function* linksIn(
  path: string,
  format: Format,
  base: string,
  signal: AbortSignal,
): AsyncGenerator<Entry | Broken> {
  const { readEntries } = await import('./read.ts')
  const { prose } = await import('./text.ts')
  const bytes = createReadStream(path)
  // In a text only explicit URLs count: it may be anything, and not a user's list. Only a feed may have relative links.
  const found = format === 'txt' ? prose(decoded(bytes)) : readEntries(bytes, format)
  const known = new Set([base])
  for await (const batch of found)
    for (const entry of batch) {
      signal.throwIfAborted()
      const url = 'broken' in entry ? undefined : linkOf(entry.url, FEEDS.has(format) ? base : undefined)
      if ('broken' in entry) yield entry
      else if (url !== undefined && !known.has(url)) yield { ...entry, url }
      if (url !== undefined) known.add(url)
    }
}
