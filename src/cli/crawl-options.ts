import { type CrawlLimits, newCrawl, type Pairs } from '../app/add/new-crawl.ts'
import type { About, Refuse } from '../app/add/refuse.ts'
import { namesOf, tagsIn } from '../app/records/names.ts'
import { UsageError } from '../base/errors.ts'
import { size } from '../base/kinds.ts'
import type { Problems } from '../base/problems.ts'
import { sayMeanwhile } from './meanwhile.ts'
import type { Asked } from './settings.ts'

/** The options of a new crawl, as typed. */
export interface CrawlOptions {
  readonly depth?: string
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

/** A crawl's limits, tags and settings. Throws UsageError with all that is wrong, also with the process's settings. */
export async function limitsOf(asked: Asked, verb: CrawlOptions): Promise<CrawlLimits> {
  const { problems } = asked
  const { urlAllowlist, urlDenylist } = verb
  const plugins = problems.attempt(() => (verb.plugins === undefined ? undefined : namesOf(verb.plugins, '--plugins')))
  const wanted = {
    maxDepth: problems.attempt(() => wholeNumber(verb.depth ?? '0', '--depth', 4)) ?? 0,
    maxUrls: problems.attempt(() => wholeNumber(verb.maxUrls ?? '0', '--max-urls', 10_000_000)) ?? 0,
    maxSize: problems.attempt(() => bytes(verb.maxSize ?? '0', '--max-size')) ?? 0,
    tags: problems.attempt(() => tagsIn(verb.tag)) ?? [],
    label: verb.label ?? '',
    ...(plugins && { plugins }),
    ...(urlAllowlist !== undefined && { urlAllowlist }),
    ...(urlDenylist !== undefined && { urlDenylist }),
    settings: ownSettings(asked, verb),
    ...(verb.persona !== undefined && { persona: verb.persona }),
  }
  const limits = await newCrawl(asked, wanted, { tell: sayMeanwhile, refuse: refusing(problems) })
  problems.refuse()
  return limits
}

const OPTION: { readonly [Key in About]?: string } = {
  plugins: '--plugins: ',
  urlAllowlist: '--url-allowlist: ',
  urlDenylist: '--url-denylist: ',
  settings: '-c ',
}

/** Collects problems, each with the option that it is about. */
export function refusing(problems: Problems): Refuse {
  return (why, about) => {
    const option = OPTION[about]
    if (option === undefined) problems.keep(why)
    else problems.add(`${option}${why.message}`, why.hint)
  }
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

/** The crawl's own settings. */
function ownSettings({ known, problems }: Asked, { config, persona }: CrawlOptions): Pairs {
  const own = settingPairs(problems, config)
  const named = own.findLast(([name]) => known.nameOf(name) === 'ACTIVE_PERSONA')?.[1]
  if (persona !== undefined && named !== undefined && named !== persona)
    problems.add(`--persona ${persona} and -c ACTIVE_PERSONA=${named}: a crawl has one persona`)
  return own
}

/** The settings in `-c KEY=VALUE`; a word of another form is a problem. */
export function settingPairs(problems: Problems, words: readonly string[]): Pairs {
  return words.flatMap((word): Pairs => {
    const [, name, text = ''] = /^([A-Za-z][A-Za-z0-9_]*)=(.*)$/s.exec(word) ?? []
    if (name !== undefined) return [[name.toUpperCase(), text]]
    problems.add(`-c takes KEY=VALUE, not "${word}"`, 'for example: -c TIMEOUT=30')
    return []
  })
}
