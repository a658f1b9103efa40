import { discreet, oneLine } from '../base/clean.ts'
import type { Settings } from '../base/config.ts'
import { duration } from '../base/words.ts'
import { crawlById } from '../db/crawls.ts'
import type { Home } from '../db/home.ts'
import type { PageInWork } from '../db/pages-in-work.ts'
import { crawlSettings } from '../hooks/crawl-settings.ts'
import { type Hook, selectHooks } from '../hooks/discover.ts'
import { many } from './format.ts'
import { cutUrl } from './screen/fit.ts'

/** The least time that background hooks get to write their files. */
const AFTER_SECONDS = 15
const NAMED = 3
/** The length that a URL is cut to. */
const LONGEST = 60

/** Knows how long running work may take, by the settings of its crawl. */
export class Waits {
  readonly #home: Home
  readonly #settings: Settings
  /** Hooks of the crawls in work, of which there are few. */
  readonly #hooks = new Map<string, readonly Hook[]>()

  constructor(home: Home, settings: Settings) {
    this.#home = home
    this.#settings = settings
  }

  /** Reads what it needs to know about these pages, ahead of a question. */
  async learn(pages: readonly PageInWork[]): Promise<void> {
    const crawls = new Set(pages.map(({ crawl_id }) => crawl_id))
    for (const id of this.#hooks.keys()) if (!crawls.has(id)) this.#hooks.delete(id)
    for (const id of crawls) {
      if (this.#hooks.has(id)) continue
      const crawl = await crawlById(this.#home.db, id)
      const { texts, plugins } = crawlSettings(this.#home.dataDir, this.#settings, crawl?.config)
      this.#hooks.set(id, selectHooks(plugins, 'Snapshot', texts))
    }
  }

  /** A line about what a stop waits for, and how long at most; undefined: for nothing. */
  line(pages: readonly PageInWork[]): string | undefined {
    if (pages.length === 0) return undefined
    const running = pages.map(
      ({ url, hooks }) => `${hooks[0] ? `${oneLine(hooks[0].plugin)} on ` : ''}${cutUrl(discreet(url), LONGEST)}`,
    )
    const more = running.length > NAMED ? ` and ${running.length - NAMED} more` : ''
    const most = Math.max(...pages.map((page) => this.#secondsOf(page)))
    const what = running.length === 1 ? '' : `${many(running.length, 'page')}: `
    return `waiting for ${what}${running.slice(0, NAMED).join(', ')}${more}; at most ${duration(most)}`
  }

  #secondsOf({ crawl_id, hooks }: PageInWork): number {
    const known = this.#hooks.get(crawl_id) ?? []
    const left = hooks.map(({ plugin, hook_name, seconds }) => {
      const hook = known.find(({ name, plugin: of }) => name === hook_name && of === plugin)
      const { timeoutMs = 0, background = false } = hook ?? {}
      return { seconds: Math.max(0, timeoutMs / 1_000 - seconds), background }
    })
    const longest = Math.max(0, ...left.map(({ seconds }) => seconds))
    return longest + (left.some(({ background }) => background) ? AFTER_SECONDS : 0)
  }
}
