import { basename } from 'node:path'
import { sleep } from '../../base/abort.ts'
import { crawlHooks } from '../../db/crawl-hooks.ts'
import type { Home } from '../../db/home.ts'
import { isLive, type ProcessRow } from '../../db/processes.ts'
import { killFamily, membersOf } from '../../processes/family.ts'
import { familyOfRows } from '../../processes/family-of-rows.ts'
import { hasFailed } from '../sequence/setup-hooks.ts'

const AGAIN_MS = 100

/** A crawl as one of its pages sees it. */
export interface ServedCrawl {
  readonly home: Home
  readonly id: string
  /** The process of its worker. */
  readonly workerId: string
  /** Plugins that cannot serve, with the reason. */
  readonly unable: Readonly<Record<string, string>>
}

/** The processes that a crawl's background hooks, such as a browser, run for its pages: as one page sees them. */
export class CrawlServices {
  readonly #crawl: ServedCrawl
  readonly #plugins: ReadonlySet<string>
  readonly #foreign: ReadonlySet<string>
  /** The number of processes of each, by process id. */
  readonly #sizes = new Map<string, number>()

  /**
   * @param plugins the plugins with a background hook for the whole crawl
   * @param foreign those of them that do not restart by themselves what they had started
   */
  constructor(crawl: ServedCrawl, plugins: ReadonlySet<string>, foreign: ReadonlySet<string>) {
    this.#crawl = crawl
    this.#plugins = plugins
    this.#foreign = foreign
  }

  /** Notes which of them there are when the work on a page begins. */
  async look(): Promise<void> {
    if (this.#foreign.size === 0) return
    for (const row of await this.#rows())
      if (isLive(row) && this.#foreign.has(basename(row.pwd))) this.#sizes.set(row.id, await sizeOf(row))
  }

  /**
   * Whether one of them is gone, so that the crawl's worker restarts it; or everything that it had started, such as a
   * browser whose launcher has not noticed; or it is frozen. Its remains are killed.
   */
  async haveLostOne(): Promise<boolean> {
    const rows = await this.#rows()
    const lost: ProcessRow[] = []
    for (const row of rows.filter(isLive)) {
      const isWell = async () => {
        const members = await membersOf(familyOfRows([row]))
        const isAlone = members.length < Math.min(2, this.#sizes.get(row.id) ?? 1)
        const isThere = row.pid === null || members.some(({ pid }) => pid === row.pid)
        return isThere && !isAlone && !members.some(({ state }) => state === 'T')
      }
      if (await isWell()) continue
      await sleep(AGAIN_MS) // A script may be between two of its commands.
      if (!(await isWell())) lost.push(row)
    }
    if (lost.length > 0) await killFamily(familyOfRows(lost))
    return lost.length > 0 || rows.some((row) => this.#isStartedAgain(row, rows))
  }

  /**
   * Whether it has failed, perhaps before the page began, so that its crawl's worker is about to notice. One that
   * cannot serve is not restarted, nor is one beside which another hook of its plugin still runs.
   */
  #isStartedAgain(row: ProcessRow, all: readonly ProcessRow[]): boolean {
    const isPlugins = (other: ProcessRow) => isLive(other) && other.pwd === row.pwd
    if (all.some(isPlugins) || Object.hasOwn(this.#crawl.unable, basename(row.pwd))) return false
    return this.#sizes.has(row.id) || hasFailed({ code: row.exit_code, signal: null })
  }

  /** The last process of each. */
  async #rows(): Promise<ProcessRow[]> {
    const { home, workerId, id } = this.#crawl
    const rows = await crawlHooks(home, workerId, id)
    const last = new Map(rows.map((row) => [row.cmd.join('\0'), row]))
    return [...last.values()].filter(({ pwd }) => this.#plugins.has(basename(pwd)))
  }
}

const sizeOf = async (row: ProcessRow) => (await membersOf(familyOfRows([row]))).length
