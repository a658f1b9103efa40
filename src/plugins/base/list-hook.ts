import { createReadStream } from 'node:fs'
import { count } from '../../base/env-settings.ts'
import { writeWhole } from '../../base/whole-file.ts'
import { parseContentType } from '../../browse/http/content-type.ts'
import type { HookContext, HookModule, HookResult } from '../../hooks/contract.ts'
import { snapshotDepth } from '../../hooks/result-record.ts'
import type { Entry, Found } from '../../importers/entry.ts'
import type { Format } from '../../importers/formats.ts'
import { defineHook, noResults, succeeded } from './hook.ts'
import { type ServedFile, servedFile } from './served-file.ts'
import { pageUrl, siblingHeaders } from './siblings.ts'

const DEFAULT_MAX_URLS = 50_000
/** Tabs, line and page breaks, and the escape character of coloured logs. */
const TEXT_CONTROLS = new Set([0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x1b])

const FEEDS: ReadonlySet<Format> = new Set(['rss', 'opml'])

/** What is known about a file before it is parsed as a list. */
export interface ListedIn {
  /** Detected from its beginning. */
  readonly format: Format
  /** Its beginning, decoded. */
  readonly start: string
  /** From its server; '' when unknown. */
  readonly mime: string
}

interface ListHook {
  readonly plugin: string
  /** The setting that limits the number of links. */
  readonly most: string
  /** Whether the plugin reads files of this kind. */
  isOurs(file: ListedIn): boolean
}

/**
 * Makes the hook of a plugin that finds the links in files of one kind (feeds, bookmarks, texts), as snapshots one
 * level deeper.
 */
export function defineListHook(meta: ImportMeta, definition: ListHook): HookModule {
  return defineHook(meta, {
    plugin: definition.plugin,
    async run(context) {
      const file = servedFile(context)
      if ('status' in file) return file
      const list = await listIn(context, file)
      if (!list || !definition.isOurs(list)) return noResults('0 URLs parsed')
      return await takeLinks(context, definition, file, list)
    },
  })
}

async function listIn(context: HookContext, { head }: ServedFile): Promise<ListedIn | undefined> {
  // Text has few control characters; UTF-16, with its zeros, has a byte order mark.
  const isUtf16 = /^(?:\xff\xfe|\xfe\xff)/.test(head.toString('latin1', 0, 2))
  const isText = isUtf16 || !head.some((byte) => byte < 0x20 && !TEXT_CONTROLS.has(byte))
  if (!isText || head.toString('latin1', 0, 5) === '%PDF-') return undefined
  const { decoded } = await import('../../importers/decode.ts')
  const { formatOf } = await import('../../importers/detect.ts')
  let start = ''
  for await (const text of decoded(once(head))) start += text
  const { mime } = parseContentType(String(siblingHeaders(context)?.headers['content-type'] ?? ''))
  return { format: formatOf(start), start, mime }
}

async function takeLinks(
  context: HookContext,
  { plugin, most }: ListHook,
  file: ServedFile,
  { format }: ListedIn,
): Promise<HookResult> {
  const max = count(context.env, most, DEFAULT_MAX_URLS)
  const base = pageUrl(context)
  // Only a feed may have relative links.
  const relativeTo = FEEDS.has(format) ? base : undefined
  const depth = snapshotDepth(context.env) + 1
  const records = new Map<string, object>()
  let broken = ''
  for await (const entry of entriesIn(file, format)) {
    context.signal.throwIfAborted()
    if ('broken' in entry) {
      broken = `; ${entry.broken}`
      continue
    }
    const url = absolute(entry.url, relativeTo)
    if (url === undefined || url === base || records.has(url)) continue
    records.set(url, { type: 'Snapshot', url, plugin, depth, ...detailsOf(entry) })
    if (records.size >= max) break
  }
  if (records.size === 0) return noResults(`0 URLs parsed${broken}`)
  const all = [...records.values()]
  writeWhole(context.outputDir, 'urls.jsonl', all.map((record) => `${JSON.stringify(record)}\n`).join(''))
  for (const record of all) context.emit(record)
  const isCut = records.size === max
  return succeeded(`${records.size} URLs parsed${isCut ? ` (${most})` : broken}`)
}

/** In a text only explicit URLs count: it may be anything, and not a user's list. */
async function* entriesIn({ path }: ServedFile, format: Format): AsyncGenerator<Found> {
  const { readEntries } = await import('../../importers/read.ts')
  const { prose } = await import('../../importers/text.ts')
  const { decoded } = await import('../../importers/decode.ts')
  const bytes = createReadStream(path)
  const found = format === 'txt' ? prose(decoded(bytes)) : readEntries(bytes, format)
  for await (const batch of found) yield* batch
}

function absolute(text: string, base: string | undefined): string | undefined {
  const url = text === '' ? null : URL.parse(text, base)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return undefined
  url.hash = ''
  return url.href
}

/** Uses upstream's names. */
function detailsOf({ title, tags = [], addedAt }: Entry): object {
  return {
    ...(title ? { title } : {}),
    ...(tags.length > 0 ? { tags: tags.join(',') } : {}),
    ...(addedAt ? { bookmarked_at: addedAt.toISOString() } : {}),
  }
}

async function* once<T>(value: T): AsyncGenerator<T> {
  yield value
}
