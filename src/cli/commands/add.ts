import { createReadStream } from 'node:fs'
import { EXIT, messageOf, UsageError } from '../../base/errors.ts'
import { type UrlList, urlsOfPart } from '../../base/url-list.ts'
import { insertCrawl, type NewCrawl } from '../../db/crawls.ts'
import { crawlRecord } from '../../db/records.ts'
import { CheckedUrls, checkedUrls } from '../checked-urls.ts'
import { follow } from '../follow.ts'
import { asProcess, openHome } from '../home.ts'
import { linesOf } from '../lines.ts'
import { type CrawlOptions, limitsOf } from '../new-crawl.ts'
import type { GlobalOptions } from '../options.ts'
import { onStderr } from '../screen/palette.ts'
import type { Asked } from '../settings.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'

export interface AddOptions extends CrawlOptions {
  readonly file?: string
  readonly run?: boolean
  readonly wait?: boolean
  readonly dryRun?: boolean
  readonly demo?: boolean
}

/** `add`: one crawl of these URLs. Without --run and --wait it only writes rows. */
export async function add(options: Asked, args: readonly string[], verb: AddOptions): Promise<void> {
  const limits = limitsOf(options, verb)
  const demo = verb.demo ? await (await import('../../demo/server.ts')).serveDemo() : undefined
  try {
    const list = demo ? checkedUrls([demo.url]) : await collect(args, verb.file)
    const crawl: NewCrawl = {
      ...limits,
      ...(demo ? { maxDepth: Math.max(1, limits.maxDepth), label: limits.label || 'Demo' } : {}),
      list,
    }
    if (verb.dryRun) return sayPlan(options, crawl)
    await queue(options, crawl, verb, demo !== undefined)
  } finally {
    await demo?.close()
  }
}

async function queue(options: GlobalOptions, crawl: NewCrawl, verb: AddOptions, demo: boolean): Promise<void> {
  const open = await openHome(options, 'if-empty', (line) => terminal.say(line))
  try {
    // Only one that wants a runner counts as a command that may own it.
    await asProcess(open.home, verb.run || demo ? 'add' : 'cli', async (processId) => {
      const row = await insertCrawl(open.home.db, crawl)
      if (!verb.run && !verb.wait && !demo) {
        if (wantsJson(options)) printRecord(crawlRecord(row))
        else
          terminal.say(
            `queued ${counted(crawl.list)} as crawl ${row.id}; ${onStderr.bold('archivebox-ts run')} works on it`,
          )
        return
      }
      terminal.json = options.json === true
      terminal.ids = { crawl_id: row.id, process_id: processId }
      await follow(open, options, row.id, { processId, run: verb.run === true || demo })
    })
  } finally {
    await open.close()
  }
}

/**
 * URLs from the arguments, a file or stdin; one a line there, without `#` comments and blank lines. Throws UsageError.
 */
export async function collect(args: readonly string[], file: string | undefined): Promise<UrlList> {
  const fromStdin =
    file === '-' || args.includes('-') || (args.length === 0 && file === undefined && process.stdin.isTTY !== true)
  const urls = new CheckedUrls()
  const take = (line: string) => {
    if (line && !line.startsWith('#')) urls.take(line)
  }
  for (const arg of args) if (arg !== '-') take(arg.trim())
  if (file !== undefined && file !== '-') {
    try {
      for await (const lines of linesOf(createReadStream(file))) lines.forEach(take)
    } catch (error) {
      if (error instanceof UsageError) throw error
      throw new UsageError(`cannot read ${file}: ${messageOf(error)}`)
    }
  }
  if (fromStdin) for await (const lines of linesOf(process.stdin)) lines.forEach(take)
  return urls.list()
}

function sayPlan(options: GlobalOptions, { list, tags, maxDepth }: NewCrawl): void {
  const line = wantsJson(options)
    ? (url: string) => `${JSON.stringify({ type: 'Snapshot', url, depth: 0, tags })}\n`
    : (url: string) => `${url}\n`
  for (const part of [list.first, ...list.others()]) process.stdout.write(urlsOfPart(part).map(line).join(''))
  terminal.say(`dry run: ${counted(list)}, depth ${maxDepth}; nothing was written`)
  process.exitCode = EXIT.ok
}

const counted = ({ total }: UrlList) => `${total} URL${total > 1 ? 's' : ''}`
