import { basename } from 'node:path'
import { sleep } from '../../base/abort.ts'
import { crawlHooks } from '../../db/crawl-hooks.ts'
import type { Home } from '../../db/home.ts'
import { isLive, type ProcessRow } from '../../db/processes.ts'
import type { Hook } from '../../hooks/discover.ts'
import { killFamily, membersOf } from '../../processes/family.ts'
import { familyOfRows } from '../../processes/family-of-rows.ts'
import { hasFailed } from '../sequence/setup-hooks.ts'
import { withRequired } from './runs-again.ts'

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

/** What a crawl's background hooks, such as a browser, run for its pages: seen from one of these. */
export class CrawlServices {
  readonly #crawl: ServedCrawl
  readonly #hooks: readonly Hook[]
  readonly #plugins: ReadonlySet<string>
  /** By process id, how many processes each consists of. */
  readonly #sizes = new Map<string, number>()

  private constructor(crawl: ServedCrawl, hooks: readonly Hook[], plugins: ReadonlySet<string>) {
    this.#crawl = crawl
    this.#hooks = hooks
    this.#plugins = plugins
  }

  /**
   * Looks which services there are when the work on a page begins.
   * @param hooks those of the page
   * @param plugins the plugins with a background hook for the whole crawl
   * @param foreign those of them that do not start again by themselves what they had started
   */
  static async look(
    crawl: ServedCrawl,
    hooks: readonly Hook[],
    plugins: ReadonlySet<string>,
    foreign: ReadonlySet<string>,
  ): Promise<CrawlServices> {
    const services = new CrawlServices(crawl, hooks, plugins)
    if (foreign.size === 0) return services
    for (const row of await services.#rows())
      if (isLive(row) && foreign.has(basename(row.pwd))) services.#sizes.set(row.id, await sizeOf(row))
    return services
  }

  /** Does this hook need one of them? */
  areNeededBy({ plugin }: Hook): boolean {
    return [...withRequired(this.#hooks, [plugin])].some((required) => this.#plugins.has(required))
  }

  /**
   * Is one of them gone, so that the crawl's worker starts it again; or all that it had started: a browser whose
   * launcher has not noticed; or is it frozen? What is left of it is killed.
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
   * Has it ended with a failure, perhaps before the page began: its crawl's worker is about to notice? One that cannot
   * serve is not started again, and neither is one beside which another hook of its plugin still runs.
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
