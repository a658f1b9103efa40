import pc from 'picocolors'
import { messageOf, UsageError } from '../base/errors.ts'
import { archivableUrl } from '../base/urls.ts'
import type { NewCrawl } from '../db/crawls.ts'
import { terminal } from './terminal.ts'

/** What a crawl is asked for with, as it was typed. */
export interface CrawlOptions {
  readonly depth: string
  readonly tag?: string
  readonly label?: string
  readonly plugins?: string
  readonly maxUrls: string
  readonly urlAllowlist?: string
  readonly urlDenylist?: string
  readonly config: readonly string[]
}

/** A crawl's limits, tags and settings. Throws UsageError. */
export function limitsOf(verb: CrawlOptions): Omit<NewCrawl, 'urls'> {
  const env = Object.fromEntries(verb.config.map(setting))
  return {
    maxDepth: whole(verb.depth, '--depth', 4),
    maxUrls: whole(verb.maxUrls, '--max-urls', 10_000_000),
    maxSize: 0,
    tags: commaList(verb.tag),
    label: verb.label ?? '',
    config: {
      ...(verb.plugins === undefined ? {} : { plugins: commaList(verb.plugins) }),
      ...(verb.urlAllowlist === undefined ? {} : { url_allowlist: verb.urlAllowlist }),
      ...(verb.urlDenylist === undefined ? {} : { url_denylist: verb.urlDenylist }),
      ...(verb.config.length === 0 ? {} : { env }),
    },
  }
}

/** The URLs that can be archived, each once. The others are named; when none is left, that is an error. */
export function checkedUrls(lines: readonly string[]): string[] {
  const urls = new Set<string>()
  const bad: string[] = []
  for (const line of lines) {
    try {
      urls.add(archivableUrl(line))
    } catch (error) {
      bad.push(messageOf(error))
    }
  }
  if (urls.size === 0) throw new UsageError(bad[0] ?? 'no URL given', 'archivebox-ts add https://example.com, or one URL a line on stdin')
  for (const reason of bad) {
    terminal.say(`${pc.yellow('left out:')} ${reason}`)
  }
  return [...urls]
}

/** A whole number from 0 to `max`. Throws UsageError. */
function whole(value: string, option: string, max: number): number {
  const number = Number(value)
  if (!/^\d+$/.test(value) || number > max) throw new UsageError(`${option} takes a whole number from 0 to ${max}, not "${value}"`)
  return number
}

/** The parts of a comma-separated list, each once. */
export function commaList(value: string | undefined): string[] {
  return [
    ...new Set(
      (value ?? '')
        .split(',')
        .map((item) => item.trim())
        .filter(Boolean),
    ),
  ]
}

function setting(pair: string): [string, string] {
  const match = /^([A-Za-z][A-Za-z0-9_]*)=(.*)$/s.exec(pair)
  if (!match) throw new UsageError(`-c takes KEY=VALUE, not "${pair}"`, 'for example: -c TIMEOUT=30')
  return [match[1]!.toUpperCase(), match[2]!]
}
