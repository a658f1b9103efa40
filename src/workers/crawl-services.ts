import { sleep } from '../base/abort.ts'
import type { Home } from '../db/home.ts'
import { liveRows, type ProcessRow } from '../db/processes.ts'
import type { Hook } from '../hooks/discover.ts'
import { killFamily, membersOf } from '../processes/family.ts'
import { familyOfRows } from '../processes/family-of-rows.ts'
import { withRequired } from './runs-again.ts'

const AGAIN_MS = 100

/** What a crawl's background hooks, such as a browser, run for its pages: seen from one of these. */
export class CrawlServices {
  readonly #home: Home
  readonly #crawlId: string
  readonly #hooks: readonly Hook[]
  readonly #plugins: ReadonlySet<string>
  /** By process id, how many processes each consists of. */
  readonly #sizes = new Map<string, number>()

  private constructor(home: Home, crawlId: string, hooks: readonly Hook[], plugins: ReadonlySet<string>) {
    this.#home = home
    this.#crawlId = crawlId
    this.#hooks = hooks
    this.#plugins = plugins
  }

  /**
   * Looks which services there are when the work on a page begins.
   * @param hooks those of the page
   * @param plugins the plugins with a background hook for the whole crawl
   */
  static async look(
    home: Home,
    crawlId: string,
    hooks: readonly Hook[],
    plugins: ReadonlySet<string>,
  ): Promise<CrawlServices> {
    const services = new CrawlServices(home, crawlId, hooks, plugins)
    if (plugins.size === 0) return services
    for (const row of await services.#rows()) services.#sizes.set(row.id, await sizeOf(row))
    return services
  }

  /** Does this hook need one of them? */
  areNeededBy({ plugin }: Hook): boolean {
    return [...withRequired(this.#hooks, [plugin])].some((required) => this.#plugins.has(required))
  }

  /**
   * Is one of them gone since then, or all that it had started: a browser whose launcher has not noticed? What is left
   * of it is killed, so that the crawl's worker starts it again.
   */
  async haveLostOne(): Promise<boolean> {
    const rows = await this.#rows()
    const lost: ProcessRow[] = []
    for (const row of rows) {
      const isAlone = async () => (await sizeOf(row)) < Math.min(2, this.#sizes.get(row.id) ?? 1)
      if (!(await isAlone())) continue
      await sleep(AGAIN_MS) // A script may be between two of its commands.
      if (await isAlone()) lost.push(row)
    }
    if (lost.length > 0) await killFamily(familyOfRows(lost))
    return lost.length > 0 || [...this.#sizes.keys()].some((id) => !rows.some((row) => row.id === id))
  }

  async #rows(): Promise<ProcessRow[]> {
    const rows = await liveRows(this.#home)
    return rows.filter(
      (row) =>
        row.process_type === 'hook' && row.url !== null && row.crawl_id === this.#crawlId && row.snapshot_id === null,
    )
  }
}

const sizeOf = async (row: ProcessRow) => (await membersOf(familyOfRows([row]))).length
