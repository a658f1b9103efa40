import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import pc from 'picocolors'
import { EXIT, messageOf, UsageError } from '../../base/errors.ts'
import { archivableUrl } from '../../base/urls.ts'
import { insertCrawl, type NewCrawl } from '../../db/crawls.ts'
import { crawlRecord } from '../../db/records.ts'
import { findPlugins, pluginTrees } from '../../hooks/discover.ts'
import { follow } from '../follow.ts'
import { asProcess, openHome } from '../home.ts'
import type { GlobalOptions } from '../options.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'

export interface AddOptions {
  readonly file?: string
  readonly depth: string
  readonly tag?: string
  readonly label?: string
  readonly plugins?: string
  readonly maxUrls: string
  readonly urlAllowlist?: string
  readonly urlDenylist?: string
  readonly config: readonly string[]
  readonly run?: boolean
  readonly wait?: boolean
  readonly dryRun?: boolean
  readonly demo?: boolean
}

/** `add`: one crawl of these URLs. Without --run and --wait it only writes rows. */
export async function add(options: GlobalOptions, args: readonly string[], verb: AddOptions): Promise<void> {
  const limits = limitsOf(verb)
  const demo = verb.demo ? await (await import('../../demo/server.ts')).serveDemo() : undefined
  try {
    const urls = checked(demo ? [demo.url] : await collect(args, verb.file))
    const crawl: NewCrawl = { ...limits, ...(demo ? { maxDepth: Math.max(1, limits.maxDepth), label: limits.label || 'Demo' } : {}), urls }
    if (verb.dryRun) return sayPlan(options, crawl)
    await queue(options, crawl, verb, demo !== undefined)
  } finally {
    await demo?.close()
  }
}

async function queue(options: GlobalOptions, crawl: NewCrawl, verb: AddOptions, demo: boolean): Promise<void> {
  const open = await openHome(options, 'if-empty', (line) => terminal.say(line))
  try {
    if (crawl.config.plugins) namePlugins(crawl.config.plugins, findPlugins(pluginTrees(open.home.dataDir, open.settings)))
    // Only one that wants a runner counts as a command that may own it.
    await asProcess(open.home, verb.run || demo ? 'add' : 'cli', async (processId) => {
      const row = await insertCrawl(open.home.db, crawl)
      if (!verb.run && !verb.wait && !demo) {
        if (wantsJson(options)) printRecord(crawlRecord(row))
        else
          terminal.say(
            `queued ${crawl.urls.length} URL${crawl.urls.length > 1 ? 's' : ''} as crawl ${row.id}; ${pc.bold('archivebox-ts run')} works on it`,
          )
        return
      }
      await follow(open, options, row.id, { processId, run: verb.run === true || demo })
    })
  } finally {
    await open.close()
  }
}

/** URLs from the arguments, a file or stdin; one a line there, `#` comments and blank lines left out. */
async function collect(args: readonly string[], file: string | undefined): Promise<string[]> {
  const fromStdin = file === '-' || args.includes('-') || (args.length === 0 && file === undefined && process.stdin.isTTY !== true)
  const lines = args.filter((arg) => arg !== '-')
  if (file !== undefined && file !== '-') {
    try {
      lines.push(...readFileSync(file, 'utf8').split('\n'))
    } catch (error) {
      throw new UsageError(`cannot read ${file}: ${messageOf(error)}`)
    }
  }
  if (fromStdin) lines.push(...(await text(process.stdin)).split('\n'))
  return lines.map((line) => line.trim()).filter((line) => line && !line.startsWith('#'))
}

/** The URLs that can be archived, each once. The others are named; when none is left, that is an error. */
function checked(lines: readonly string[]): string[] {
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

function limitsOf(verb: AddOptions): Omit<NewCrawl, 'urls'> {
  const env = Object.fromEntries(verb.config.map(setting))
  return {
    maxDepth: whole(verb.depth, '--depth', 4),
    maxUrls: whole(verb.maxUrls, '--max-urls', 10_000_000),
    maxSize: 0,
    tags: list(verb.tag),
    label: verb.label ?? '',
    config: {
      ...(verb.plugins === undefined ? {} : { plugins: list(verb.plugins) }),
      ...(verb.urlAllowlist === undefined ? {} : { url_allowlist: verb.urlAllowlist }),
      ...(verb.urlDenylist === undefined ? {} : { url_denylist: verb.urlDenylist }),
      ...(verb.config.length === 0 ? {} : { env }),
    },
  }
}

function whole(value: string, option: string, max: number): number {
  const number = Number(value)
  if (!/^\d+$/.test(value) || number > max) throw new UsageError(`${option} takes a whole number from 0 to ${max}, not "${value}"`)
  return number
}

/** A plugin's name that is nobody's is most likely a mistake in typing; but the runner may have more plugin folders than we see. */
function namePlugins(wanted: readonly string[], there: readonly { readonly name: string }[]): void {
  const unknown = wanted.filter((name) => !there.some((plugin) => plugin.name === name))
  const known = there
    .map(({ name }) => name)
    .sort()
    .join(', ')
  if (unknown.length > 0) terminal.say(`${pc.yellow('careful:')} there is no plugin ${unknown.join(', ')} here; there are: ${known}`)
}

function list(value: string | undefined): string[] {
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

function sayPlan(options: GlobalOptions, crawl: NewCrawl): void {
  if (wantsJson(options)) for (const url of crawl.urls) printRecord({ type: 'Snapshot', url, depth: 0, tags: crawl.tags })
  else for (const url of crawl.urls) process.stdout.write(`${url}\n`)
  terminal.say(`dry run: ${crawl.urls.length} URL${crawl.urls.length > 1 ? 's' : ''}, depth ${crawl.maxDepth}; nothing was written`)
  process.exitCode = EXIT.ok
}
