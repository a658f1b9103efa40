import { join } from 'node:path'
import type { LogLine } from '../base/log.ts'
import { duration, shortId } from '../base/words.ts'
import { onlyPageOf } from '../db/crawl-progress.ts'
import { crawlById } from '../db/crawls.ts'
import type { FailureGroup } from '../db/failures.ts'
import type { Home } from '../db/home.ts'
import { many } from './format.ts'
import type { GlobalOptions } from './options.ts'
import { failuresText, type Outcomes, outcomesText } from './outcomes.ts'
import { onStderr, PLAIN } from './screen/palette.ts'
import { toType } from './to-type.ts'

/** The most kinds of failures that are told apart: causes come from outside. */
const MOST_KINDS = 1_000
/** The most crawls that a command names. */
const MOST_NAMED = 3
/** The most pages of a kind that are named. */
const MOST_IDS = 5

/** How the pages of one run ended, by the lines of its log; reported when it exits. */
export class RunTally {
  readonly #begun = performance.now()
  readonly #outcomes = { archived: 0, partial: 0, failed: 0 }
  readonly #crawls = new Set<string>()
  readonly #withFailures = new Set<string>()
  readonly #kinds = new Map<string, FailureGroup>()
  /** The URL of the first page of each kind. */
  readonly #urls = new Map<string, string>()

  get pages(): number {
    const { archived, partial, failed }: Outcomes = this.#outcomes
    return archived + partial + failed
  }

  /** Counts a page that ended; ignores every other line. */
  take({ page, ids }: LogLine): void {
    if (!page?.outcome) return
    const { crawl_id: crawlId = '', snapshot_id: id = '' } = ids ?? {}
    this.#outcomes[page.outcome] += 1
    if (this.#crawls.size <= MOST_NAMED) this.#crawls.add(crawlId)
    if (page.outcome === 'archived') return
    if (this.#withFailures.size <= MOST_NAMED) this.#withFailures.add(crawlId)
    const cause = page.cause ?? ''
    const host = URL.parse(page.url)?.host ?? ''
    const key = `${cause}\n${host}`
    const before = this.#kinds.get(key)
    if (!before && this.#kinds.size >= MOST_KINDS) return
    if (!before) this.#urls.set(id, page.url)
    this.#kinds.set(key, {
      cause,
      host,
      pages: (before?.pages ?? 0) + 1,
      partial: (before?.partial ?? 0) + (page.outcome === 'partial' ? 1 : 0),
      snapshot_ids: [id, ...(before?.snapshot_ids ?? [])].slice(0, MOST_IDS),
      sealed_at: new Date(),
    })
  }

  /** `12 pages in 40 s: 10 archived, 2 failed`; '' when none ended. */
  text(): string {
    if (this.pages === 0) return ''
    const seconds = Math.max(1, (performance.now() - this.#begun) / 1000)
    return `${many(this.pages, 'page')} in ${duration(seconds)}: ${outcomesText(this.#outcomes, PLAIN)}`
  }

  /** What failed, where the copies are, and the command that retries. */
  async lines(home: Home, options: GlobalOptions, columns: number): Promise<string[]> {
    if (this.pages === 0) return []
    const retry = onStderr.bold(toType(options, this.#retryCommand()))
    const groups = [...this.#kinds.values()].sort((a, b) => b.pages - a.pages)
    return [
      ...failuresText(groups, this.#urls, this.pages, columns),
      `open:      ${onStderr.bold(join(home.dataDir, await this.#place(home), 'index.html'))}`,
      ...(groups.length > 0
        ? [`try again: ${retry}, then ${onStderr.bold(toType(options, 'archivebox-ts run'))}`]
        : []),
    ]
  }

  /** The folder of the only page or crawl that was worked on, else the top. The database may be away. */
  async #place({ db }: Home): Promise<string> {
    const [only] = this.#crawls
    if (!only || this.#crawls.size > 1) return ''
    const crawl = await crawlById(db, only).catch(() => undefined)
    if (!crawl) return ''
    const page =
      this.pages === 1 && crawl.urls_total === 1 ? await onlyPageOf(db, only).catch(() => undefined) : undefined
    return page ?? crawl.output_dir
  }

  #retryCommand(): string {
    return this.#withFailures.size > MOST_NAMED
      ? 'archivebox-ts snapshot list --outcome failed,partial | archivebox-ts snapshot retry --failed -'
      : `archivebox-ts crawl retry --failed ${[...this.#withFailures].map(shortId).join(' ')}`
  }
}
