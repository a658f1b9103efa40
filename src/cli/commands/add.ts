import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import pc from 'picocolors'
import { EXIT, messageOf, UsageError } from '../../base/errors.ts'
import { insertCrawl, type NewCrawl } from '../../db/crawls.ts'
import { crawlRecord } from '../../db/records.ts'
import { follow } from '../follow.ts'
import { asProcess, openHome } from '../home.ts'
import { type CrawlOptions, checkedUrls, limitsOf } from '../new-crawl.ts'
import type { GlobalOptions } from '../options.ts'
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
    const urls = checkedUrls(demo ? [demo.url] : await collect(args, verb.file))
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

function sayPlan(options: GlobalOptions, crawl: NewCrawl): void {
  if (wantsJson(options)) for (const url of crawl.urls) printRecord({ type: 'Snapshot', url, depth: 0, tags: crawl.tags })
  else for (const url of crawl.urls) process.stdout.write(`${url}\n`)
  terminal.say(`dry run: ${crawl.urls.length} URL${crawl.urls.length > 1 ? 's' : ''}, depth ${crawl.maxDepth}; nothing was written`)
  process.exitCode = EXIT.ok
}
