import { UsageError } from '../../base/errors.ts'
import { closest } from '../../base/near-miss.ts'
import { own, put } from '../../base/own.ts'
import { brokenPatterns } from '../../base/urls.ts'
import type { Persona } from '../../browse/persona/persona.ts'
import type { NewCrawl } from '../../db/crawls.ts'
import type { CrawlConfig, FrozenSetting } from '../../db/tables.ts'
import type { Configured } from '../archive.ts'
import type { Call } from '../call.ts'
import { type CookiesExpired, crawlPersona } from './crawl-persona.ts'
import { type Refuse, thrown } from './refuse.ts'

/** A crawl that follows links without a limit of its own gets at most this many pages beyond those of its list. */
export const LINKED_PAGES = 1_000

/** Settings by name, as given; the last of a name counts. */
export type Pairs = readonly (readonly [name: string, text: string])[]

/** The options of a new crawl. */
export interface CrawlWanted {
  /** From 0, the pages of the list alone, to 4. */
  readonly maxDepth?: number
  /** 0: no limit. */
  readonly maxUrls?: number
  /** Bytes; 0: no limit. */
  readonly maxSize?: number
  readonly tags?: readonly string[]
  readonly label?: string
  /** Only these. */
  readonly plugins?: readonly string[]
  /** Domains and regular expressions, comma-separated. */
  readonly urlAllowlist?: string
  readonly urlDenylist?: string
  /** The crawl's own settings, which override all others. */
  readonly settings?: Pairs
  readonly persona?: string
}

/** A crawl without its list. */
export type CrawlLimits = Omit<NewCrawl, 'list'>

/** Gives a crawl of this many URLs a limit of pages, where it follows links and none was given. */
export function withLimit(crawl: CrawlLimits, urls: number): CrawlLimits {
  return crawl.maxDepth > 0 ? { ...crawl, maxUrls: urls + LINKED_PAGES } : crawl
}

/**
 * A crawl's limits, tags and settings, including those of its persona and its environment. Without `refuse`, throws
 * UsageError for the first problem.
 */
export async function newCrawl(
  configured: Configured,
  wanted: CrawlWanted,
  { tell, refuse = thrown }: Pick<Call<CookiesExpired>, 'tell'> & { readonly refuse?: Refuse } = {},
): Promise<CrawlLimits> {
  const { maxDepth = 0, maxUrls = 0, maxSize = 0, tags = [], label = '', plugins } = wanted
  const env = crawlSettings(configured, wanted.settings ?? [], refuse)
  if (wanted.persona !== undefined) env['ACTIVE_PERSONA'] = wanted.persona
  const persona = await crawlPersona(configured, env['ACTIVE_PERSONA'], { ...(tell && { tell }), refuse })
  if (plugins) refuseUnknown(configured, plugins, refuse)
  const [allow, deny] = (['urlAllowlist', 'urlDenylist'] as const).map((name) => {
    for (const { pattern, why } of brokenPatterns(wanted[name] ?? ''))
      refuse(new UsageError(`${pattern} is neither a domain nor a regular expression: ${why}`), name)
    return wanted[name]
  })
  const config: CrawlConfig = {
    ...(plugins && { plugins }),
    ...(allow !== undefined && { url_allowlist: allow }),
    ...(deny !== undefined && { url_denylist: deny }),
    ...(Object.keys(env).length > 0 && { env }),
    ...frozenSettings(configured, persona),
  }
  return { maxDepth, maxUrls, maxSize, tags, label, config }
}

/** A crawl's own settings, by their names; settings that a crawl cannot have are refused. */
export function crawlSettings(
  { known, settings }: Configured,
  given: Pairs,
  refuse: Refuse = thrown,
): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const [name, text] of given) {
    const why = known.refusalForCrawl(name, text, settings.texts)
    if (why !== undefined) refuse(new UsageError(why), 'settings')
    put(kept, known.nameOf(name), text)
  }
  return kept
}

function refuseUnknown({ known }: Configured, names: readonly string[], refuse: Refuse): void {
  const unknown = names.filter((name) => !known.plugins.includes(name))
  if (unknown.length === 0) return
  const meant = unknown.length === 1 ? closest(unknown[0]!, known.plugins) : undefined
  const perhaps = meant === undefined ? '' : `: did you mean ${meant}?`
  const all = [...known.plugins].sort().join(', ')
  const hint = 'plugins are in the data dir, or in the folders of ABX_PLUGINS_DIR'
  refuse(new UsageError(`there is no plugin ${unknown.join(', ')}${perhaps}; there are: ${all}`, hint), 'plugins')
}

/** The settings of the persona and the environment that a crawl keeps, with their sources. */
function frozenSettings(
  { known, settings, sources }: Configured,
  persona: Persona['settings'],
): Pick<CrawlConfig, 'frozen'> {
  const frozen: Record<string, FrozenSetting> = {}
  for (const [name, value] of Object.entries(settings.texts)) {
    const isAlias = known.nameOf(name) !== name && own(settings.texts, known.nameOf(name)) !== undefined
    if (value === undefined || isAlias || !known.isFrozen(name, value)) continue
    const { name: source } = sources.find(({ texts }) => own(texts, name) !== undefined)!
    if (source !== 'command line') put(frozen, known.nameOf(name), { value, source })
  }
  for (const [name, value] of Object.entries(persona)) put(frozen, known.nameOf(name), { value, source: 'persona' })
  return Object.keys(frozen).length === 0 ? {} : { frozen }
}
