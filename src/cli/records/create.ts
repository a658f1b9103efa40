import { checkedPages, type ListedPage } from '../../app/add/intake.ts'
import { givenForPages, recordedSettings } from '../../app/add/page-settings.ts'
import { findIds } from '../../app/ids.ts'
import { crawlLike, createCrawls as create, createPages, openCrawl } from '../../app/records/create.ts'
import type { Line } from '../../app/records/line.ts'
import { tagsIn } from '../../app/records/names.ts'
import { listedByIds } from '../../db/lists/listings.ts'
import { type CrawlOptions, limitsOf, refusing, settingPairs } from '../crawl-options.ts'
import { many } from '../format.ts'
import { asProcess, withHome } from '../home.ts'
import { sayMeanwhile } from '../meanwhile.ts'
import type { Asked } from '../settings.ts'
import { printJson, terminal } from '../terminal.ts'
import { readInput } from './input.ts'
import { CRAWL, SNAPSHOT } from './kinds.ts'
import { printerOf } from './print.ts'

/**
 * `crawl create`: one crawl of all URLs, those of snapshot records included; a crawl record becomes a new one like it,
 * except for what the options say. Nothing is run.
 */
export async function createCrawls(options: Asked, args: readonly string[], verb: CrawlOptions): Promise<void> {
  const limits = await limitsOf(options, verb)
  const { words, lines } = await readInput(args, 'URL')
  const call = { tell: sayMeanwhile }
  const copies = lines.flatMap(({ record }) =>
    record?.['type'] === 'Crawl' ? [crawlLike(withoutTyped(record, verb), limits, call)] : [],
  )
  const { pages, others } = pagesIn(options, lines, ['Crawl'])
  const all = [...words.map((url) => ({ url })), ...pages]
  const fresh = all.length > 0 ? [{ ...limits, list: checkedPages(all, call) }] : []
  await withHome(options, async (home, open) => {
    const crawls = [...fresh]
    for (const copy of copies) crawls.push(await copy(open))
    passThrough(others)
    if (crawls.length === 0) return terminal.say('nothing to do: no URL among these')
    await asProcess(home, 'cli', async () => {
      const ids = await create(open, crawls)
      await printerOf(options, CRAWL, {}).all(await listedByIds(home.db, CRAWL, ids))
    })
  })
}

const OPTION_OF = new Map<string, keyof CrawlOptions>([
  ['max_depth', 'depth'],
  ['max_urls', 'maxUrls'],
  ['tags', 'tag'],
  ['label', 'label'],
])

/** The fields of a crawl's record that no option of this command line replaces. */
function withoutTyped(record: Readonly<Record<string, unknown>>, verb: CrawlOptions): Record<string, unknown> {
  const isTyped = (field: string) => OPTION_OF.has(field) && verb[OPTION_OF.get(field)!] !== undefined
  return Object.fromEntries(Object.entries(record).filter(([field]) => !isTyped(field)))
}

export interface NewSnapshotOptions {
  readonly tag?: string
  readonly crawlId?: string
  readonly config: readonly string[]
}

/** `snapshot create`: pages without their links, in a new crawl or in an existing one. Nothing is run. */
export async function createSnapshots(
  options: Asked,
  args: readonly string[],
  verb: NewSnapshotOptions,
): Promise<void> {
  const { problems } = options
  const given = givenForPages(options, settingPairs(problems, verb.config), refusing(problems))
  const tags = problems.attempt(() => tagsIn(verb.tag)) ?? []
  const limits = verb.crawlId === undefined ? await limitsOf(options, { config: [] }) : undefined
  problems.refuse()
  const { words, lines } = await readInput(args, 'URL')
  const { pages, others } = pagesIn(options, lines, [])
  const all = [...words.map((url): ListedPage => ({ url })), ...pages].map(({ url, settings }) => {
    const own = { ...given, ...settings }
    return Object.keys(own).length === 0 ? { url } : { url, settings: own }
  })
  const list = all.length > 0 ? checkedPages(all, { tell: sayMeanwhile }) : undefined
  await withHome(options, async (home, open) => {
    const crawl = limits ?? (await openCrawl(open, (await findIds(home, CRAWL, [verb.crawlId!]))[0]!))
    passThrough(others)
    if (list === undefined) return terminal.say('nothing to do: no URL among these')
    await asProcess(home, 'cli', async () => {
      const { pages: made, beyond, kept } = await createPages(open, { list, tags, crawl, given })
      if (beyond > 0) terminal.say(`${beyond} of ${list.total} URLs exceed the limit of their crawl`)
      if (kept > 0) terminal.say(`${many(kept, 'page')} existed already: their settings stay`)
      await printerOf(options, SNAPSHOT, {}).all(made)
    })
  })
}

/**
 * The pages among the lines, plain or as records with their settings; skips records without a URL, and types that were
 * handled already.
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

function passThrough(lines: readonly Line[]): void {
  for (const { text } of lines) printJson(text)
}
