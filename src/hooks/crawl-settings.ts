import type { Settings, Texts } from '../base/config.ts'
import { isTrusted } from '../base/trusted-settings.ts'
import type { CrawlConfig } from '../db/tables.ts'
import { findPlugins, isEnabled, type Plugin, pluginTrees, prefixOf } from './discover.ts'
import { hookSettings } from './environment.ts'
import { KnownSettings } from './known-settings.ts'

/** One crawl's settings as written, and the plugins that it may use. */
export interface CrawlSettings {
  readonly texts: Texts
  readonly plugins: readonly Plugin[]
}

/**
 * A crawl's settings: its own, then those that were frozen when it was created, then those of the process, without
 * those that hooks never see. A row may be untrusted: settings that it may not have, or that `add` refuses today, count
 * as not set, and do not fail the crawl. Only the process decides where plugins are.
 * @param complain called with the reason for each value that is left out
 */
export function crawlSettings(
  dataDir: string,
  process: Settings,
  config: CrawlConfig = {},
  complain: (why: string) => void = () => {},
): CrawlSettings {
  const plugins = findPlugins(pluginTrees(dataDir, process.texts))
  const own = { ...frozenTexts(config), ...textsIn(config.env) }
  const taken = takenFrom('crawl', own, { dataDir, process, plugins }, complain)
  return { texts: hookSettings([process.texts, taken]), plugins }
}

/**
 * The settings of a page: its own, as far as its row may have them, then those of its crawl. A plugin with a set-up
 * that is disabled for the crawl, usually a browser, stays disabled: it was not started.
 * @param complain called with the reason for each value that is left out
 */
export function pageSettings(
  dataDir: string,
  process: Settings,
  { texts, plugins }: CrawlSettings,
  own: Texts | null,
  complain: (why: string) => void = () => {},
): Texts {
  if (own === null) return texts
  const off = plugins.filter((plugin) => plugin.hooks.some(isSetUp) && !isEnabled(plugin, texts))
  const stays = Object.fromEntries(off.map(({ name }) => [`${prefixOf(name)}ENABLED`, 'false']))
  return hookSettings([texts, takenFrom('page', textsIn(own), { dataDir, process, plugins }, complain), stays])
}

const isSetUp = (hook: string) => hook.startsWith('on_CrawlSetup__')

/** The settings known with these plugins, computed once: each page asks. */
function knownWith(plugins: readonly Plugin[]): KnownSettings {
  const known = KNOWN.get(plugins) ?? new KnownSettings(plugins)
  KNOWN.set(plugins, known)
  return known
}
const KNOWN = new WeakMap<readonly Plugin[], KnownSettings>()

/** The settings of a row that count. Complains about the others, unless no hook would get them anyway. */
function takenFrom(
  row: 'page' | 'crawl',
  own: Readonly<Record<string, string>>,
  { dataDir, process, plugins }: { dataDir: string; process: Settings; plugins: readonly Plugin[] },
  complain: (why: string) => void,
): Texts {
  const entries = Object.entries(own)
  if (entries.length === 0) return {}
  const known = knownWith(plugins)
  const isSetHere = (name: string, given: string) => isTrusted(dataDir, name, given)
  const isTaken = ([name, given]: [string, string]) => {
    const why = known.refusalInRow(row, name, given, isSetHere)
    if (why !== undefined && known.reachesHooks(name, process.texts)) complain(why)
    return why === undefined
  }
  return Object.fromEntries(entries.filter(isTaken))
}

/** The texts of a row, which may be untrusted. */
function textsIn(given: unknown): Record<string, string> {
  const entries = Object.entries(typeof given === 'object' && given !== null ? given : {})
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}

function frozenTexts({ frozen }: CrawlConfig): Record<string, string> {
  const entries: [string, unknown][] = Object.entries(typeof frozen === 'object' && frozen !== null ? frozen : {})
  const valueIn = (set: unknown) => (typeof set === 'object' && set !== null && 'value' in set ? set.value : undefined)
  return textsIn(Object.fromEntries(entries.map(([name, set]) => [name, valueIn(set)])))
}
