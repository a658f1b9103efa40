import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

/**
 * DuckDuckGo's rules for consent banners (MPL-2.0, unchanged, not part of our build). We use what its rules hide at
 * once, but not its program, which clicks.
 */
const LIST = '@duckduckgo/autoconsent/rules/compact-rules.json'
/** The format that we can read. */
const FORMAT = 1

/** Strings and rules: field 3 of a rule is a pattern of URLs ('' for all), field 5 the indexes of its selectors. */
interface Rules {
  readonly v: number
  readonly s: readonly string[]
  readonly r: readonly (readonly [unknown, unknown, unknown, string, unknown, readonly number[]])[]
}

let rules: Rules | undefined

/** Selectors of the consent banners that a page may have; none when the package is not installed. */
export function consentSelectors(url: string): string[] {
  rules ??= readRules()
  const { s: texts, r: list } = rules
  const forPage = list.filter(([, , , pattern]) => pattern === '' || matches(pattern, url))
  return [...new Set(forPage.flatMap(([, , , , , selectors]) => selectors.flatMap((number) => texts[number] ?? [])))]
}

function readRules(): Rules {
  try {
    const read = JSON.parse(readFileSync(createRequire(import.meta.url).resolve(LIST), 'utf8')) as Rules
    if (read.v === FORMAT) return read
  } catch {
    // Without a list, banners are found by their looks.
  }
  return { v: FORMAT, s: [], r: [] }
}

function matches(pattern: string, url: string): boolean {
  try {
    return new RegExp(pattern).test(url)
  } catch {
    return false
  }
}
