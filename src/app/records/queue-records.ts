import { UsageError } from '../../base/errors.ts'
import { isUuid } from '../../base/ids.ts'
import { insertCrawl, type NewCrawl } from '../../db/crawls.ts'
import { CRAWLS, listedByIds, RESULTS, SNAPSHOTS } from '../../db/lists/listings.ts'
import { requeue } from '../../machines/requeue.ts'
import type { Retried } from '../../machines/retry.ts'
import { checkedUrls, type LeftOut } from '../add/intake.ts'
import type { Archive } from '../archive.ts'
import type { Call } from '../call.ts'
import { findIds, isPartOfId } from '../ids.ts'
import { cutRecord, isCut } from './cut.ts'
import type { Line } from './line.ts'

type Fields = Readonly<Record<string, unknown>>

/** What lines ask for. */
export interface Wanted {
  readonly crawls: readonly string[]
  /** Ids, or their beginnings or ends. */
  readonly snapshots: readonly string[]
  readonly results: readonly string[]
  /** URLs without a crawl: together they become one. */
  readonly urls: readonly string[]
  /** Crawls that do not exist yet. */
  readonly newCrawls: readonly Fields[]
  /** Records of other types, unchanged. */
  readonly others: readonly string[]
}

/**
 * Reads lines as records, snapshot ids (or their beginnings or ends), or URLs. Throws UsageError for a record that has
 * neither a row nor a URL.
 */
export function wantedBy(lines: readonly Line[]): Wanted {
  const wanted: { readonly [K in keyof Wanted]: Wanted[K][number][] } = {
    crawls: [],
    snapshots: [],
    results: [],
    urls: [],
    newCrawls: [],
    others: [],
  }
  const places = new Map<unknown, string[]>([
    ['Crawl', wanted.crawls],
    ['Snapshot', wanted.snapshots],
    ['ArchiveResult', wanted.results],
  ])
  for (const { text, record } of lines) {
    if (!record) {
      if (isPartOfId(text)) wanted.snapshots.push(text.toLowerCase())
      else wanted.urls.push(text)
      continue
    }
    const { type, id } = record
    const place = places.get(type)
    if (!place) wanted.others.push(text)
    else if (typeof id === 'string' && isUuid(id)) place.push(id.toLowerCase())
    else if (type === 'Snapshot' && typeof record['url'] === 'string') wanted.urls.push(record['url'])
    else if (type === 'Crawl' && urlsOf(record).length > 0) wanted.newCrawls.push(record)
    else throw new UsageError(`a record without an id, or a URL: ${text.slice(0, 100)}`)
  }
  return wanted
}

/** What was queued, and what of it was left unchanged, or will run elsewhere. */
export interface Queued extends Pick<Retried, 'adopted' | 'elsewhere' | 'lost'> {
  /** The crawls that have work now. */
  readonly crawls: string[]
  readonly snapshots: string[]
  readonly results: string[]
  /** How many of the wanted rows do not exist. */
  readonly missing: number
}

/** Queues what is wanted. Throws UsageError for a crawl that cannot exist; then nothing is queued. */
export async function queueRecords(
  { home }: Pick<Archive, 'home'>,
  wanted: Wanted,
  call: Call<LeftOut> = {},
): Promise<Queued> {
  const { db } = home
  const fresh = wanted.newCrawls.map((record) => newCrawl(urlsOf(record), record, call))
  if (wanted.urls.length > 0) fresh.push(newCrawl(wanted.urls, {}, call))
  const crawls: string[] = []
  for (const crawl of fresh) crawls.push((await insertCrawl(db, crawl)).id)
  const parts = wanted.snapshots.filter((text) => !isUuid(text))
  const pages = [...wanted.snapshots.filter(isUuid), ...(await findIds(home, SNAPSHOTS, parts))]
  const found = await Promise.all([
    listedByIds(db, CRAWLS, unique(wanted.crawls)),
    listedByIds(db, SNAPSHOTS, unique(pages)),
    listedByIds(db, RESULTS, unique(wanted.results)),
  ])
  const [known, snapshots, results] = found.map((rows) => rows.map(({ id }) => id))
  const all = unique([...wanted.crawls, ...pages, ...wanted.results]).length
  const named = { crawls: known!, snapshots: snapshots!, results: results! }
  const { concerned, ...retried } = await requeue(home, named)
  const missing = all - found.reduce((sum, { length }) => sum + length, 0)
  return { ...named, crawls: [...crawls, ...concerned], missing, ...retried }
}

/** Throws UsageError. */
function newCrawl(urls: readonly string[], record: Fields, call: Call<LeftOut>): NewCrawl {
  const { max_depth, max_urls, tags, label } = record
  if (isCut(record)) throw cutRecord(record)
  return {
    maxDepth: wholeNumber(max_depth, 'max_depth', 4),
    maxUrls: wholeNumber(max_urls, 'max_urls', 10_000_000),
    maxSize: 0,
    tags: Array.isArray(tags)
      ? unique(
          tags
            .join(',')
            .split(',')
            .map((tag) => tag.trim()),
        )
      : [],
    label: typeof label === 'string' ? label : '',
    config: {},
    list: checkedUrls(urls, call),
  }
}

/** Accepts numbers as text, too: other programs write them. */
function wholeNumber(value: unknown, field: string, max: number): number {
  const text = String(value ?? 0)
  if (/^\d+$/.test(text) && Number(text) <= max) return Number(text)
  throw new UsageError(`${field} is a whole number from 0 to ${max}, not "${text}"`)
}

/** `urls` as our own records have it, or one URL per line, as ArchiveBox's do. */
function urlsOf({ urls }: Fields): string[] {
  const list = Array.isArray(urls) ? urls : typeof urls === 'string' ? urls.split('\n') : []
  return list.filter((url): url is string => typeof url === 'string' && url.trim() !== '').map((url) => url.trim())
}

const unique = (texts: readonly string[]) => [...new Set(texts)].filter(Boolean)
