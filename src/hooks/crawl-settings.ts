import { type Settings, strongest, type Texts } from '../base/config.ts'
import { findPlugins, type Plugin, pluginTrees } from './discover.ts'
import { hookSettings } from './environment.ts'
import { KnownSettings } from './known-settings.ts'

/** What holds for one crawl, as it was written, and the plugins that it may use. */
export interface CrawlSettings {
  readonly texts: Texts
  readonly plugins: readonly Plugin[]
}

/**
 * A crawl's own settings over those of the process, without what hooks never see. What `add` would refuse today, and an
 * older version let through, counts as not set: it is no reason to fail a crawl.
 * @param complain is told why each of those is left out
 */
export function crawlSettings(
  dataDir: string,
  process: Settings,
  own: Texts = {},
  complain: (why: string) => void = () => {},
): CrawlSettings {
  const plugins = findPlugins(pluginTrees(dataDir, strongest(own, process.texts)))
  const taken = Object.keys(own).length === 0 ? own : withoutRefused(own, new KnownSettings(plugins), complain)
  return { texts: hookSettings([process.texts, taken]), plugins }
}

function withoutRefused(own: Texts, known: KnownSettings, complain: (why: string) => void): Texts {
  const isTaken = ([name, given]: [string, string | undefined]) => {
    const why = given === undefined ? undefined : known.refusal(name, given)
    if (why !== undefined) complain(why)
    return why === undefined
  }
  return Object.fromEntries(Object.entries(own).filter(isTaken))
}
