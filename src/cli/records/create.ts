import { isDeepStrictEqual } from 'node:util'
import { trustGiven, trustSettings } from '../../app/trust-given.ts'
import { AppError, UsageError } from '../../base/errors.ts'
import { isUuid } from '../../base/ids.ts'
import type { UrlList } from '../../base/url-list.ts'
import { listOf } from '../../db/crawl-sources.ts'
import { insertCrawl, type NewCrawl } from '../../db/crawls.ts'
import type { Home } from '../../db/home.ts'
import { type ListedCrawl, type ListedSnapshot, listedByIds } from '../../db/lists/listings.ts'
import { addCrawlWithPages, addPages } from '../../machines/add-pages.ts'
import { many } from '../format.ts'
import { asProcess, withHome } from '../home.ts'
import { findIds } from '../ids.ts'
import { checkedPages, checkedUrls, type ListedPage } from '../intake.ts'
import { commaList } from '../names.ts'
import { type CrawlOptions, type Limits, limitsOf } from '../new-crawl.ts'
import type { Asked } from '../settings.ts'
import { printJson, terminal } from '../terminal.ts'
import { cutRecord, isCut } from './cut.ts'
import { type Line, readInput } from './input.ts'
import { CRAWL, SNAPSHOT } from './kinds.ts'
import { givenForPages, recordedSettings } from './page-settings.ts'
import { printerOf } from './print.ts'

/**
 * `crawl create`: one crawl of all URLs and of the URLs of snapshot records; a crawl record becomes another crawl like
 * it. Nothing is run.
 */
export async function createCrawls(options: Asked, args: readonly string[], verb: CrawlOptions): Promise<void> {
  const limits = await limitsOf(options, verb)
  const { words, lines } = await readInput(args, 'URL')
  const copies = lines.flatMap(({ record }) => (record?.['type'] === 'Crawl' ? [copyOf(record, limits)] : []))
  const { pages, others } = pagesIn(options, lines, ['Crawl'])
  const all = [...words.map((url) => ({ url })), ...pages]
  const fresh = all.length > 0 ? [{ ...limits, list: checkedPages(all) }] : []
  await withHome(options, async (home) => {
    const crawls = [...fresh]
    for (const copy of copies) crawls.push(await copy(home))
    passThrough(others)
    if (crawls.length === 0) return terminal.say('nothing to do: no URL among these')
    trustGiven(options.known, home.dataDir, limits.config)
    await asProcess(home, 'cli', async () => {
      const ids: string[] = []
      for (const crawl of crawls) ids.push((await insertCrawl(home.db, crawl)).id)
      await printerOf(options, CRAWL, {}).all(await listedByIds(home.db, CRAWL, ids))
    })
  })
}

export interface NewSnapshotOptions {
  readonly tag?: string
  readonly crawlId?: string
  readonly config: readonly string[]
}

/** `snapshot create`: pages without their links, in a crawl of their own or in one that is there. Nothing is run. */
export async function createSnapshots(
  options: Asked,
  args: readonly string[],
  verb: NewSnapshotOptions,
): Promise<void> {
  const given = givenForPages(options, verb.config)
  const tags = commaList(verb.tag)
  const limits = verb.crawlId === undefined ? await limitsOf(options, { depth: '0', config: [] }) : undefined
  options.problems.refuse()
  const { words, lines } = await readInput(args, 'URL')
  const { pages, others } = pagesIn(options, lines, [])
  const all = [...words.map((url): ListedPage => ({ url })), ...pages].map(({ url, settings }) => {
    const own = { ...given, ...settings }
    return Object.keys(own).length === 0 ? { url } : { url, settings: own }
  })
  const list = all.length > 0 ? checkedPages(all) : undefined
  await withHome(options, async (home) => {
    const crawl = verb.crawlId === undefined ? undefined : await openCrawl(home, verb.crawlId)
    passThrough(others)
    if (list === undefined) return terminal.say('nothing to do: no URL among these')
    trustSettings(options.known, home.dataDir, Object.entries(given))
    if (limits) trustGiven(options.known, home.dataDir, limits.config)
    await asProcess(home, 'cli', async () => {
      const ids =
        limits === undefined
          ? await addPages(home.db, crawl!.id, list, tags)
          : await addCrawlWithPages(home.db, { ...limits, list, tags })
      if (ids.length < list.total)
        terminal.say(`${list.total - ids.length} of ${list.total} URLs are beyond the limit of their crawl`)
      const rows = await listedByIds(home.db, SNAPSHOT, ids)
      sayKept(rows, list)
      await printerOf(options, SNAPSHOT, {}).all(rows)
    })
  })
}

/** Says how many pages were there already, with other settings than were asked for. */
function sayKept(rows: readonly ListedSnapshot[], list: UrlList): void {
  const asked = new Map([...list].flatMap(({ url, details }) => (details?.settings ? [[url, details.settings]] : [])))
  const kept = rows.filter(({ url, settings }) => asked.has(url) && !isDeepStrictEqual(settings, asked.get(url)))
  if (kept.length > 0) terminal.say(`${many(kept.length, 'page')} of these were there already: their settings stay`)
}

async function openCrawl(home: Home, text: string): Promise<ListedCrawl> {
  const [crawl] = await listedByIds(home.db, CRAWL, await findIds(home, CRAWL, [text]))
  if (crawl!.status === 'sealed' || crawl!.status === 'paused')
    throw new AppError(`crawl ${crawl!.id} takes no pages: it is ${crawl!.status}`, {
      hint: 'without --crawl-id they get a crawl of their own',
    })
  return crawl!
}

/**
 * The pages among the lines, plain or as records with their settings; records without a URL, and those of types that
 * were dealt with already, are left.
 */
function pagesIn(asked: Asked, lines: readonly Line[], dealtWith: readonly string[]) {
  const pages: ListedPage[] = []
  const others: Line[] = []
  for (const line of lines) {
    const { text, record } = line
    const type = record?.['type'] ?? 'Snapshot'
    if (!record) pages.push({ url: text })
    else if (type === 'Snapshot' && typeof record['url'] === 'string') {
      const settings = recordedSettings(asked, record)
      pages.push({ url: record['url'], ...(Object.keys(settings).length > 0 && { settings }) })
    } else if (!dealtWith.includes(String(type))) others.push(line)
  }
  return { pages, others }
}

/**
 * A crawl like the one of a record. What the record does not say is as the options have it. A record that shows only
 * the first URLs of a long list stands for the whole of it, which is read when the home is open. Throws UsageError.
 */
function copyOf(record: Readonly<Record<string, unknown>>, limits: Limits): (home: Home) => Promise<NewCrawl> {
  const {
    urls,
    max_depth: depth = limits.maxDepth,
    max_urls: maxUrls = limits.maxUrls,
    tags = limits.tags,
    label = limits.label,
  } = record
  const areTexts = (value: unknown): value is string[] =>
    Array.isArray(value) && value.every((item) => typeof item === 'string')
  const isWhole = (value: unknown, max: number): value is number =>
    Number.isInteger(value) && Number(value) >= 0 && Number(value) <= max
  if (
    !areTexts(urls) ||
    !areTexts(tags) ||
    typeof label !== 'string' ||
    !isWhole(depth, 4) ||
    !isWhole(maxUrls, 10_000_000)
  )
    throw new UsageError(`not a crawl that can be made: ${JSON.stringify(record).slice(0, 200)}`)
  const like = { ...limits, maxDepth: depth, maxUrls, tags, label }
  if (!isCut(record)) {
    const list = checkedUrls(urls)
    return async () => ({ ...like, list })
  }
  return async (home) => {
    const { id } = record
    const list = typeof id === 'string' && isUuid(id) ? await listOf(home.db, id) : undefined
    if (!list) throw cutRecord(record)
    return { ...like, list }
  }
}

function passThrough(lines: readonly Line[]): void {
  for (const { text } of lines) printJson(text)
}
