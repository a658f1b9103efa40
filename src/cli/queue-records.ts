import { UsageError } from '../base/errors.ts'
import { isUuid } from '../base/ids.ts'
import { insertCrawl, type NewCrawl } from '../db/crawls.ts'
import type { Home } from '../db/home.ts'
import { listedByIds } from '../db/lists/listings.ts'
import { requeue } from '../machines/requeue.ts'
import { adoptedNote } from './adopted-note.ts'
import { findIds, isPartOfId } from './ids.ts'
import { checkedUrls } from './intake.ts'
import { commaList } from './names.ts'
import { wholeNumber } from './new-crawl.ts'
import type { GlobalOptions } from './options.ts'
import { cutRecord, isCut } from './records/cut.ts'
import type { Line } from './records/input.ts'
import { CRAWL, RESULT, SNAPSHOT } from './records/kinds.ts'
import { onStderr } from './screen/palette.ts'
import { printJson, printRecord, terminal, wantsJson } from './terminal.ts'

/** What the lines on stdin ask for. */
export interface Asked {
  readonly crawls: readonly string[]
  /** Ids, or their beginnings or ends. */
  readonly snapshots: readonly string[]
  readonly results: readonly string[]
  /** URLs without a crawl of their own: they become one together. */
  readonly urls: readonly string[]
  /** Crawls that are not there yet. */
  readonly newCrawls: readonly Readonly<Record<string, unknown>>[]
  /** Records of another type, as they came. */
  readonly others: readonly string[]
}

/**
 * Reads lines as records, snapshot ids (or their beginnings or ends), or URLs. Throws UsageError for a record that
 * says neither which row nor which URL it means.
 */
export function askedFor(lines: readonly Line[]): Asked {
  const asked: { readonly [K in keyof Asked]: Asked[K][number][] } = {
    crawls: [],
    snapshots: [],
    results: [],
    urls: [],
    newCrawls: [],
    others: [],
  }
  const places = new Map<unknown, string[]>([
    ['Crawl', asked.crawls],
    ['Snapshot', asked.snapshots],
    ['ArchiveResult', asked.results],
  ])
  for (const { text, record } of lines) {
    if (!record) {
      if (isPartOfId(text)) asked.snapshots.push(text.toLowerCase())
      else asked.urls.push(text)
      continue
    }
    const { type, id } = record
    const place = places.get(type)
    if (!place) asked.others.push(text)
    else if (typeof id === 'string' && isUuid(id)) place.push(id.toLowerCase())
    else if (type === 'Snapshot' && typeof record['url'] === 'string') asked.urls.push(record['url'])
    else if (type === 'Crawl' && urlsOf(record).length > 0) asked.newCrawls.push(record)
    else throw new UsageError(`a record without an id, or a URL: ${text.slice(0, 100)}`)
  }
  return asked
}

/**
 * Queues what was asked for, and prints it as records for whoever reads stdout; what is not for us goes on as it came.
 * Throws UsageError for a crawl that cannot be; then nothing is queued.
 * @returns the crawls that there is work in now
 */
export async function queueRecords(home: Home, options: GlobalOptions, asked: Asked): Promise<string[]> {
  const fresh = asked.newCrawls.map((record) => newCrawl(urlsOf(record), record))
  if (asked.urls.length > 0) fresh.push(newCrawl(asked.urls, {}))
  for (const text of asked.others) printJson(text)
  const crawls: string[] = []
  for (const crawl of fresh) crawls.push((await insertCrawl(home.db, crawl)).id)
  const parts = asked.snapshots.filter((text) => !isUuid(text))
  const pages = [...asked.snapshots.filter(isUuid), ...(await findIds(home, SNAPSHOT, parts))]
  const [known, snapshots, results] = await Promise.all([
    listedByIds(home.db, CRAWL, unique(asked.crawls)),
    listedByIds(home.db, SNAPSHOT, unique(pages)),
    listedByIds(home.db, RESULT, unique(asked.results)),
  ])
  const missing =
    unique([...asked.crawls, ...pages, ...asked.results]).length - known.length - snapshots.length - results.length
  if (missing > 0) terminal.say(`${onStderr.yellow('left out:')} ${missing} of these are not there`)
  const ids = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id)
  const named = { crawls: ids(known), snapshots: ids(snapshots), results: ids(results) }
  const { concerned, adopted } = await requeue(home.db, named)
  crawls.push(...concerned)
  if (adopted.length > 0) terminal.say(adoptedNote(adopted))
  if (wantsJson(options)) {
    for (const row of await listedByIds(home.db, CRAWL, crawls)) printRecord(CRAWL.record(row))
    for (const row of await listedByIds(home.db, SNAPSHOT, ids(snapshots))) printRecord(SNAPSHOT.record(row))
    for (const row of results) printRecord(RESULT.record(row))
  }
  return crawls
}

/** Throws UsageError. */
function newCrawl(urls: readonly string[], record: Readonly<Record<string, unknown>>): NewCrawl {
  const { max_depth, max_urls, tags, label } = record
  if (isCut(record)) throw cutRecord(record)
  return {
    maxDepth: wholeNumber(String(max_depth ?? 0), '--depth', 4),
    maxUrls: wholeNumber(String(max_urls ?? 0), '--max-urls', 10_000_000),
    maxSize: 0,
    tags: commaList(Array.isArray(tags) ? tags.join(',') : ''),
    label: typeof label === 'string' ? label : '',
    config: {},
    list: checkedUrls(urls),
  }
}

/** `urls` as our own records have it, or one URL a line, as ArchiveBox's do. */
function urlsOf({ urls }: Readonly<Record<string, unknown>>): string[] {
  const list = Array.isArray(urls) ? urls : typeof urls === 'string' ? urls.split('\n') : []
  return list.filter((url): url is string => typeof url === 'string' && url.trim() !== '').map((url) => url.trim())
}

const unique = (texts: readonly string[]) => [...new Set(texts)]
