import { UsageError } from '../base/errors.ts'
import { size } from '../base/kinds.ts'
import { closest } from '../base/near-miss.ts'
import { own, put } from '../base/own.ts'
import type { Persona } from '../base/persona/persona.ts'
import { brokenPatterns } from '../base/urls.ts'
import type { NewCrawl } from '../db/crawls.ts'
import type { CrawlConfig, FrozenSetting } from '../db/tables.ts'
import { commaList } from './names.ts'
import { crawlPersona } from './persona/crawl-persona.ts'
import type { Asked } from './settings.ts'

/** What a crawl is asked for with, as it was typed. */
export interface CrawlOptions {
  readonly depth: string
  readonly tag?: string
  readonly label?: string
  readonly plugins?: string
  readonly maxUrls?: string
  readonly maxSize?: string
  readonly urlAllowlist?: string
  readonly urlDenylist?: string
  readonly persona?: string
  readonly config: readonly string[]
}

export type Limits = Omit<NewCrawl, 'list'>

/** A crawl's limits, tags and settings. Throws UsageError, with all that is wrong, settings of the process included. */
export async function limitsOf(asked: Asked, verb: CrawlOptions): Promise<Limits> {
  const { problems } = asked
  const own = ownSettings(asked, verb)
  const persona = await crawlPersona(asked, own['ACTIVE_PERSONA'])
  const limits: Limits = {
    maxDepth: problems.attempt(() => wholeNumber(verb.depth, '--depth', 4)) ?? 0,
    maxUrls: problems.attempt(() => wholeNumber(verb.maxUrls ?? '0', '--max-urls', 10_000_000)) ?? 0,
    maxSize: problems.attempt(() => bytes(verb.maxSize ?? '0', '--max-size')) ?? 0,
    tags: commaList(verb.tag),
    label: verb.label ?? '',
    config: {
      ...(verb.plugins === undefined ? {} : { plugins: pluginsOf(asked, commaList(verb.plugins)) }),
      ...(verb.urlAllowlist === undefined
        ? {}
        : { url_allowlist: patternsOf(asked, verb.urlAllowlist, '--url-allowlist') }),
      ...(verb.urlDenylist === undefined
        ? {}
        : { url_denylist: patternsOf(asked, verb.urlDenylist, '--url-denylist') }),
      ...(Object.keys(own).length === 0 ? {} : { env: own }),
      ...frozenSettings(asked, persona),
    },
  }
  problems.refuse()
  return limits
}

/** A whole number from 0 to `max`. Throws UsageError. */
export function wholeNumber(value: string, option: string, max: number): number {
  const number = Number(value)
  if (!/^\d+$/.test(value) || number > max)
    throw new UsageError(`${option} takes a whole number from 0 to ${max}, not "${value}"`)
  return number
}

function bytes(value: string, option: string): number {
  const read = size.read(value)
  if (read === undefined) throw new UsageError(`${option} takes ${size.takes}, not "${value}"`)
  return read
}

/** Plugins by name; one that is not here is a problem. */
function pluginsOf({ known, problems }: Asked, names: readonly string[]): readonly string[] {
  const unknown = names.filter((name) => !known.plugins.includes(name))
  const meant = unknown.length === 1 ? closest(unknown[0]!, known.plugins) : undefined
  const perhaps = meant === undefined ? '' : `: did you mean ${meant}?`
  if (unknown.length > 0)
    problems.add(
      `--plugins: there is no plugin ${unknown.join(', ')} here${perhaps}; ` +
        `there are: ${[...known.plugins].sort().join(', ')}`,
      'plugins lie in the data dir, or in the folders that ABX_PLUGINS_DIR names',
    )
  return names
}

function patternsOf({ problems }: Asked, list: string, option: string): string {
  for (const { pattern, why } of brokenPatterns(list))
    problems.add(`${option}: ${pattern} is neither a domain nor a regular expression: ${why}`)
  return list
}

/** The settings of the persona and of the surroundings that a crawl keeps, with their sources. */
function frozenSettings(
  { known, settings, sources }: Asked,
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

/** The crawl's own settings: `-c`, and `--persona`. */
function ownSettings(asked: Asked, { config, persona }: CrawlOptions): Record<string, string> {
  const own = crawlSettingsOf(asked, config)
  if (persona === undefined) return own
  if (own['ACTIVE_PERSONA'] !== undefined && own['ACTIVE_PERSONA'] !== persona)
    asked.problems.add(`--persona ${persona} and -c ACTIVE_PERSONA=${own['ACTIVE_PERSONA']}: a crawl has one persona`)
  return { ...own, ACTIVE_PERSONA: persona }
}

/** The settings in `-c KEY=VALUE`, under their names; what the crawl cannot have is a problem. */
export function crawlSettingsOf(
  { known, settings, problems }: Asked,
  pairs: readonly string[],
): Record<string, string> {
  const given: Record<string, string> = {}
  for (const pair of pairs) {
    const match = /^([A-Za-z][A-Za-z0-9_]*)=(.*)$/s.exec(pair)
    if (!match) {
      problems.add(`-c takes KEY=VALUE, not "${pair}"`, 'for example: -c TIMEOUT=30')
      continue
    }
    const [name, text] = [match[1]!.toUpperCase(), match[2]!]
    const why = known.refusalForCrawl(name, text, settings.texts)
    if (why !== undefined) problems.add(`-c ${why}`)
    put(given, known.nameOf(name), text)
  }
  return given
}
