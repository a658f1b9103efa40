import { statSync } from 'node:fs'
import type { AddressFilter } from '../base/address-filter.ts'
import { messageOf, UsageError } from '../base/errors.ts'
import { urlDetails } from '../base/url-details.ts'
import { type UrlList, UrlListBuilder } from '../base/url-list.ts'
import { archivableUrl } from '../base/urls.ts'
import type { Entry, Found } from '../importers/entry.ts'
import type { Format } from '../importers/formats.ts'
import { urlsInLine } from '../importers/text.ts'
import { discreet } from './screen/clean.ts'
import { onStderr } from './screen/palette.ts'
import { terminal } from './terminal.ts'

/** Of what is left out so many are named. */
const NAMED = 10
const MOST_URLS = 10_000_000

/** An entry with settings for its page alone: no list of a stranger has them. */
export interface ListedPage extends Entry {
  readonly settings?: Readonly<Record<string, string>>
}

/** Takes in what lists hold: URLs that can be archived, each once, with what is known of them; and counts the rest. */
export class Intake {
  readonly #urls = new UrlListBuilder()
  readonly #named: string[] = []
  read = 0
  /** That cannot be archived: no URLs, or of another kind. */
  refused = 0
  /** Where the list itself is damaged. */
  broken = 0
  twice = 0
  readonly #filter: AddressFilter | undefined

  /** @param filter the hosts that can be archived; undefined: all */
  constructor(filter?: AddressFilter) {
    this.#filter = filter
  }

  /** Throws UsageError when there are more than a crawl can have. */
  take(found: Found | ListedPage): void {
    this.read += 1
    if ('broken' in found) {
      this.broken += 1
      this.#name(found.broken, found.line)
      return
    }
    try {
      if (found.url === '')
        throw new Error(`an entry without a URL${found.title ? `: ${found.title.slice(0, 60)}` : ''}`)
      // Where a list has no title, many a program writes the URL again.
      const details = urlDetails(found.title === found.url ? { ...found, title: undefined } : found)
      const url = archivableUrl(found.url)
      const refusal = this.#filter?.refusalOf(url)
      if (refusal !== undefined) throw new Error(`${url.slice(0, 200)}: ${refusal}`)
      if (!this.#urls.add(url, details)) this.twice += 1
    } catch (error) {
      this.refused += 1
      this.#name(messageOf(error), found.line)
    }
    if (this.#urls.total > MOST_URLS) throw new UsageError(`more than ${MOST_URLS} URLs`, 'add them as several crawls')
  }

  /** The first thing that was left out, and where. */
  get firstLeftOut(): string | undefined {
    return this.#named[0]
  }

  /** Names what was left out, the first few of it. Throws UsageError when no URL is left. */
  list(): UrlList {
    const list = this.#urls.list()
    if (!list) {
      const hint = 'archivebox-ts add https://example.com, or a list with --file or on stdin'
      throw new UsageError(this.#named[0] ?? 'no URL given', hint)
    }
    for (const reason of this.#named) terminal.say(`${onStderr.yellow('left out:')} ${reason}`)
    const more = this.refused + this.broken - this.#named.length
    if (more > 0) terminal.say(`${onStderr.yellow('left out:')} ${more} more like these`)
    return list
  }

  close(): void {
    this.#urls.close()
  }

  #name(reason: string, line: number | undefined): void {
    const clean = discreet(reason) // It quotes a stranger's list.
    if (this.#named.length < NAMED) this.#named.push(line === undefined ? clean : `line ${line}: ${clean}`)
  }
}

/**
 * Takes in URLs from the arguments, a file, and stdin: for `-`, or when nothing else was named. Throws UsageError.
 * @param format of the file and of stdin; undefined: found out
 */
export async function takeIn(
  intake: Intake,
  args: readonly string[],
  file: string | undefined,
  format: Format | undefined,
): Promise<void> {
  const isStdin =
    file === '-' || args.includes('-') || (args.length === 0 && file === undefined && process.stdin.isTTY !== true)
  for (const arg of args) {
    if (arg === '-' || arg.trim() === '') continue
    if (isFile(arg)) throw new UsageError(`${arg} is a file`, `to add what is in it: archivebox-ts add --file ${arg}`)
    for (const url of urlsInLine(arg.trim())) intake.take({ url })
  }
  const sources = [...(file !== undefined && file !== '-' ? [file] : []), ...(isStdin ? [process.stdin] : [])]
  if (sources.length === 0) return
  const { readEntries } = await import('../importers/read.ts')
  for (const source of sources) {
    try {
      for await (const found of readEntries(source, format)) for (const each of found) intake.take(each)
    } catch (error) {
      if (error instanceof UsageError) throw error
      throw new UsageError(`cannot read ${typeof source === 'string' ? source : 'stdin'}: ${messageOf(error)}`)
    }
  }
}

/** What names a file that is here and is no URL by its looks. */
function isFile(arg: string): boolean {
  try {
    return !/^[a-z][a-z\d+.-]*:/i.test(arg) && statSync(arg).isFile()
  } catch {
    return false
  }
}

/** The URLs among lines, which may lack their schemes. Others are named. Throws UsageError when none is left. */
export function checkedUrls(lines: Iterable<string>): UrlList {
  return checkedPages([...lines].map((url) => ({ url })))
}

/** The same with settings of pages; of a URL that comes twice, the first counts. */
export function checkedPages(pages: Iterable<ListedPage>): UrlList {
  const intake = new Intake()
  for (const { url: line, ...rest } of pages) for (const url of urlsInLine(line.trim())) intake.take({ url, ...rest })
  return intake.list()
}
