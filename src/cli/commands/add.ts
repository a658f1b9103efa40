import { type AddInput, add as addCrawl, toAdd } from '../../app/add/add.ts'
import { Intake } from '../../app/add/intake.ts'
import { type CrawlLimits, LINKED_PAGES, withLimit } from '../../app/add/new-crawl.ts'
import type { NewUrls } from '../../app/add/new-urls.ts'
import type { Archive } from '../../app/archive.ts'
import { strongest } from '../../base/config.ts'
import { isDataDir } from '../../base/data-dir.ts'
import { EXIT } from '../../base/errors.ts'
import { type UrlList, urlsOfPart } from '../../base/url-list.ts'
import { urlFilter } from '../../base/urls.ts'
import { shortId } from '../../base/words.ts'
import { AddressFilter } from '../../browse/network/address-filter.ts'
import type { NewRow } from '../../db/new-process.ts'
import { crawlRecord } from '../../db/records.ts'
import { type CrawlOptions, limitsOf } from '../crawl-options.ts'
import { many } from '../format.ts'
import { asProcess, asProcessOf, openHome } from '../home.ts'
import { sayIntake, sayWrapped } from '../intake-summary.ts'
import type { GlobalOptions } from '../options.ts'
import { OwnRunner } from '../own-runner.ts'
import { onStderr } from '../screen/palette.ts'
import type { Asked } from '../settings.ts'
import { stopWithWrapper } from '../stop-with-wrapper.ts'
import { type SourceOptions, takeIn } from '../take-in.ts'
import { printRecord, printText, terminal, wantsJson } from '../terminal.ts'
import { toType } from '../to-type.ts'

export interface AddOptions extends CrawlOptions, SourceOptions {
  readonly fromArchivebox?: string
  readonly link?: boolean
  readonly again?: boolean
  readonly run?: boolean
  readonly wait?: boolean
  readonly indexOnly?: boolean
  readonly dryRun?: boolean
  readonly demo?: boolean
}

/** Archiving a page again means to fetch it from its server again. */
const EVERYTHING_ANEW = 'REUSE_UNCHANGED=false'

/** `add`: one crawl of these URLs. Without --run and --wait it only writes rows. Returns the exit code. */
export async function add(options: Asked, args: readonly string[], verb: AddOptions): Promise<number> {
  if (verb.indexOnly && (verb.run || verb.wait || verb.demo))
    options.problems.add('--index-only archives nothing: it excludes --run, --wait and --demo')
  const from = verb.fromArchivebox
  if (from !== undefined && (args.length > 0 || verb.file !== undefined || verb.run || verb.wait || verb.indexOnly))
    options.problems.add(
      '--from-archivebox imports a collection as it is: it takes no URL, --file, --run, --wait or --index-only',
    )
  if (verb.demo && (args.length > 0 || verb.file !== undefined || from !== undefined))
    options.problems.add('--demo archives a small site of its own: it takes no URL, --file or --from-archivebox')
  if (from === undefined && verb.link) options.problems.add('--link works only with --from-archivebox')
  const config = verb.again ? [EVERYTHING_ANEW, ...verb.config] : verb.config
  const limits = await limitsOf(options, { ...verb, config })
  if (from !== undefined) {
    const how = { isDry: verb.dryRun === true, byLinks: verb.link === true }
    return await (await import('./add-archivebox.ts')).addArchiveBox(options, from, limits, how)
  }
  const demo = verb.demo ? await (await import('../../demo/server.ts')).serveDemo() : undefined
  const intake = new Intake(AddressFilter.ofPrivate(strongest(limits.config.env ?? {}, options.settings.texts)))
  try {
    if (demo) {
      intake.take({ url: demo.url })
      const ofDemo = { ...limits, maxDepth: Math.max(1, limits.maxDepth), label: limits.label || 'Demo' }
      return await queue(options, intake, { list: intake.list(), crawl: ofDemo }, { ...verb, run: true })
    }
    const list = await takeIn(intake, args, 'add', verb)
    const crawl = verb.maxUrls === undefined ? withLimit(limits, list.total) : limits
    if (crawl !== limits && !options.quiet)
      sayWrapped(
        `depth ${limits.maxDepth}: at most ${LINKED_PAGES} linked pages; --max-urls sets another limit, ` +
          'for all pages, or 0 for none',
      )
    return await queue(options, intake, { list, crawl }, verb)
  } finally {
    intake.close()
    await demo?.close()
  }
}

async function queue(
  options: GlobalOptions,
  intake: Intake,
  { list, crawl }: Pick<AddInput, 'list' | 'crawl'>,
  verb: AddOptions,
): Promise<number> {
  if (verb.dryRun && !isDataDir(options.dataDir)) return sayPlan(options, intake, crawl, { list, archived: 0 })
  const runner = new OwnRunner(options)
  const isAgain = verb.again === true || verb.demo === true
  const input = { list, crawl, isAgain, isListOnly: verb.indexOnly === true, crawlId: runner.crawlId }
  if ((verb.run || verb.wait) && !verb.dryRun) stopWithWrapper()
  if (verb.run && !verb.dryRun) runner.startAhead()
  try {
    const isBrief = !verb.run && !verb.wait
    const open = await openHome(options, verb.dryRun ? 'never' : 'if-empty', { isBrief })
    try {
      runner.mayOpen()
      if (verb.dryRun) return sayPlan(options, intake, crawl, await toAdd(open, input))
      return await addNew(open, options, intake, input, verb, runner)
    } finally {
      await open.close()
    }
  } finally {
    runner.dismiss()
  }
}

async function addNew(
  open: Archive,
  options: GlobalOptions,
  intake: Intake,
  input: AddInput,
  verb: AddOptions,
  runner: OwnRunner,
): Promise<number> {
  const { crawlId, commandId } = runner
  const work = async (on?: NewRow): Promise<number> => {
    const added = await addCrawl(open, input, on && { on })
    const { crawl, list } = added
    sayIntake(options, intake, added)
    if (!crawl) return codeOf(intake)
    if (verb.run || verb.wait) {
      terminal.json = options.json === true
      terminal.ids = { crawl_id: crawlId, process_id: commandId }
      const followed = await (await import('../follow.ts')).follow(open, options, { runner, run: verb.run === true })
      return followed === EXIT.ok ? codeOf(intake) : followed
    }
    if (wantsJson(options)) printRecord(crawlRecord(crawl))
    else if (verb.indexOnly) {
      const way = toType(options, `archivebox-ts crawl resume ${shortId(crawl.id)}`)
      terminal.say(`listed ${counted(list)}; ${onStderr.bold(way)} archives them`)
    } else {
      const way = onStderr.bold(toType(options, 'archivebox-ts run'))
      terminal.say(`queued ${counted(list)} as crawl ${crawl.id}; ${way} works on it`)
    }
    return codeOf(intake)
  }
  // The process is written with its crawl by one statement, unless a runner has to know it before.
  const registered = verb.indexOnly || verb.run ? asProcess : asProcessOf
  // Only a command that wants a runner counts as one that may own it.
  return await registered(open.home, verb.run ? 'add' : 'cli', work, commandId)
}

/** A damaged list is a failure, whatever became of the rest of it. */
const codeOf = ({ broken }: Intake): number => (broken > 0 ? EXIT.failed : EXIT.ok)

/** Prints the URLs that would be added, and how many of them its lists and its limit leave out. */
function sayPlan(options: GlobalOptions, intake: Intake, crawl: CrawlLimits, fresh: NewUrls): number {
  const { tags, maxDepth, maxUrls, config } = crawl
  const inside = urlFilter(config.url_allowlist ?? '', config.url_denylist ?? '')
  let [allowed, taken] = [0, 0]
  for (const part of fresh.list?.parts() ?? []) {
    const pages = urlsOfPart(part).filter(({ url }) => inside(url))
    const within = maxUrls > 0 ? pages.slice(0, maxUrls - taken) : pages
    allowed += pages.length
    taken += within.length
    const lines = within.map(({ url, details }) =>
      wantsJson(options) ? `${JSON.stringify(planned(url, tags, details))}\n` : `${url}\n`,
    )
    printText(lines.join(''))
  }
  sayIntake(options, intake, fresh)
  const excluded = (fresh.list?.total ?? 0) - allowed
  const left = [
    excluded > 0 && `, ${many(excluded, 'URL')} excluded by the allow and deny lists`,
    allowed > taken && `, ${many(allowed - taken, 'URL')} beyond --max-urls`,
  ]
  terminal.say(`dry run: ${many(taken, 'URL')}${left.filter(Boolean).join('')}, depth ${maxDepth}; nothing was written`)
  return codeOf(intake)
}

function planned(
  url: string,
  tags: readonly string[],
  details: ReturnType<typeof urlsOfPart>[number]['details'],
): object {
  const { title = null, notes = null, at = null } = details ?? {}
  const all = [...new Set([...tags, ...(details?.tags ?? [])])]
  return { type: 'Snapshot', url, title, depth: 0, tags: all, notes, bookmarked_at: at }
}

const counted = (list: UrlList | undefined) => many(list?.total ?? 0, 'URL')
