import { type Settings, strongest, type Texts } from '../base/config.ts'
import type { CrawlConfig } from '../db/tables.ts'
import { findPlugins, type Plugin, pluginTrees } from './discover.ts'
import { hookSettings } from './environment.ts'
import { KnownSettings } from './known-settings.ts'

/** One crawl's settings as written, and the plugins that it may use. */
export interface CrawlSettings {
  readonly texts: Texts
  readonly plugins: readonly Plugin[]
}

/**
 * A crawl's settings: its own, then those that were frozen when it was created, then those of the process, without the
 * ones that hooks never see. Values that `add` refuses today, from an older version, count as not set, so that they do
 * not fail the crawl.
 * @param complain called with the reason for each value that is left out
 */
export function crawlSettings(
  dataDir: string,
  process: Settings,
  config: CrawlConfig = {},
  complain: (why: string) => void = () => {},
): CrawlSettings {
  const own: Texts = { ...frozenTexts(config), ...config.env }
  const plugins = findPlugins(pluginTrees(dataDir, strongest(own, process.texts)))
  const taken = Object.keys(own).length === 0 ? own : withoutRefused(own, knownWith(plugins), complain)
  return { texts: hookSettings([process.texts, taken]), plugins }
}

/** The settings known with these plugins, worked out once: each page asks. */
function knownWith(plugins: readonly Plugin[]): KnownSettings {
  const known = KNOWN.get(plugins) ?? new KnownSettings(plugins)
  KNOWN.set(plugins, known)
  return known
}
const KNOWN = new WeakMap<readonly Plugin[], KnownSettings>()

function withoutRefused(own: Texts, known: KnownSettings, complain: (why: string) => void): Texts {
  const isTaken = ([name, given]: [string, string | undefined]) => {
    const why = given === undefined ? undefined : known.refusal(name, given)
    if (why !== undefined) complain(why)
    return why === undefined
  }
  return Object.fromEntries(Object.entries(own).filter(isTaken))
}

function frozenTexts({ frozen = {} }: CrawlConfig): Texts {
  return Object.fromEntries(Object.entries(frozen).map(([name, { value }]) => [name, value]))
}
