import type { Archive } from '../../app/archive.ts'
import { trustGiven } from '../../app/trust-given.ts'
import { AddressFilter } from '../../base/address-filter.ts'
import { strongest } from '../../base/config.ts'
import { isDataDir } from '../../base/data-dir.ts'
import { EXIT } from '../../base/errors.ts'
import { type UrlList, urlsOfPart } from '../../base/url-list.ts'
import { insertCrawl } from '../../db/crawls.ts'
import type { NewRow } from '../../db/new-process.ts'
import { crawlRecord } from '../../db/records.ts'
import type { Format } from '../../importers/formats.ts'
import { many, shortId } from '../format.ts'
import { asProcess, asProcessOf, openHome } from '../home.ts'
import { Intake, takeIn } from '../intake.ts'
import { sayIntake, sayWrapped } from '../intake-summary.ts'
import { type CrawlOptions, type Limits, limitsOf } from '../new-crawl.ts'
import { type NewUrls, newUrls } from '../new-urls.ts'
import type { GlobalOptions } from '../options.ts'
import { OwnRunner } from '../own-runner.ts'
import { onStderr } from '../screen/palette.ts'
import type { Asked } from '../settings.ts'
import { stopWithWrapper } from '../stop-with-wrapper.ts'
import { printRecord, printText, terminal, wantsJson } from '../terminal.ts'

export interface AddOptions extends CrawlOptions {
  readonly file?: string
  readonly fromArchivebox?: string
  readonly link?: boolean
  readonly parser: Format | 'auto'
  readonly again?: boolean
  readonly run?: boolean
  readonly wait?: boolean
  readonly indexOnly?: boolean
  readonly dryRun?: boolean
  readonly demo?: boolean
}

/** Who follows links and does not say how far gets at most so many pages besides those of the list. */
export const LINKED_PAGES = 1_000

/** Whoever wants a page again wants it from its server. */
const EVERYTHING_ANEW = 'REUSE_UNCHANGED=false'

/** `add`: one crawl of these URLs. Without --run and --wait it only writes rows. Answers with its exit code. */
export async function add(options: Asked, args: readonly string[], verb: AddOptions): Promise<number> {
  if (verb.indexOnly && (verb.run || verb.wait || verb.demo))
    options.problems.add('--index-only archives nothing: there is nothing to --run, to --wait for or to show')
  const from = verb.fromArchivebox
  if (from !== undefined && (args.length > 0 || verb.file !== undefined || verb.run || verb.wait || verb.indexOnly))
    options.problems.add(
      '--from-archivebox takes a collection over as it is: no URL, --file, --run, --wait or --index-only',
    )
  if (from === undefined && verb.link) options.problems.add('--link is about the files of --from-archivebox')
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
      const maxDepth = Math.max(1, limits.maxDepth)
      return await queue(
        options,
        intake,
        { ...limits, maxDepth, label: limits.label || 'Demo' },
        { ...verb, run: true },
      )
    }
    await takeIn(intake, args, verb.file, verb.parser === 'auto' ? undefined : verb.parser)
    const isUnlimited = limits.maxDepth > 0 && verb.maxUrls === undefined
    const maxUrls = isUnlimited ? intake.list().total + LINKED_PAGES : limits.maxUrls
    if (isUnlimited && !options.quiet)
      sayWrapped(
        `depth ${limits.maxDepth}: at most ${LINKED_PAGES} pages that are linked to; --max-urls sets another limit, ` +
          'of all pages, 0 none',
      )
    return await queue(options, intake, { ...limits, maxUrls }, verb)
  } finally {
    intake.close()
    await demo?.close()
  }
}

async function queue(options: GlobalOptions, intake: Intake, limits: Limits, verb: AddOptions): Promise<number> {
  const all = intake.list()
  // Whoever follows links needs the pages that they are on.
  const isAgain = verb.again === true || verb.demo === true || limits.maxDepth > 0
  if (verb.dryRun && !isDataDir(options.dataDir)) return sayPlan(options, intake, limits, { list: all, archived: 0 })
  const runner = new OwnRunner(options)
  if ((verb.run || verb.wait) && !verb.dryRun) stopWithWrapper()
  if (verb.run && !verb.dryRun) runner.startAhead()
  try {
    const isBrief = !verb.run && !verb.wait
    const open = await openHome(options, verb.dryRun ? 'never' : 'if-empty', { isBrief })
    try {
      runner.mayOpen()
      const fresh = isAgain ? { list: all, archived: 0 } : await newUrls(open.home.db, all)
      if (verb.dryRun) return sayPlan(options, intake, limits, fresh)
      return await addNew(open, options, intake, limits, fresh, verb, runner)
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
  limits: Limits,
  fresh: NewUrls,
  verb: AddOptions,
  runner: OwnRunner,
): Promise<number> {
  const { crawlId, commandId } = runner
  const { list } = fresh
  const work = async (row?: NewRow): Promise<number> => {
    if (list === undefined) {
      sayIntake(options, intake, fresh)
      return codeOf(intake)
    }
    const crawl = { ...limits, list }
    trustGiven(options.known, open.home.dataDir, crawl.config)
    // What few commands need is not loaded with the others: a plain `add` is to be quick.
    const queued = verb.indexOnly
      ? await (await import('./list-only.ts')).listOnly(open.home, crawl)
      : await insertCrawl(open.home.db, crawl, crawlId, row)
    sayIntake(options, intake, fresh)
    if (verb.run || verb.wait) {
      terminal.json = options.json === true
      terminal.ids = { crawl_id: crawlId, process_id: commandId }
      const followed = await (await import('../follow.ts')).follow(open, options, { runner, run: verb.run === true })
      return followed === EXIT.ok ? codeOf(intake) : followed
    }
    if (wantsJson(options)) printRecord(crawlRecord(queued))
    else if (verb.indexOnly)
      terminal.say(
        `listed ${counted(list)}; ${onStderr.bold(`archivebox-ts crawl resume ${shortId(queued.id)}`)} archives them`,
      )
    else
      terminal.say(`queued ${counted(list)} as crawl ${queued.id}; ${onStderr.bold('archivebox-ts run')} works on it`)
    return codeOf(intake)
  }
  // With its crawl, a process is written by one statement. Not one that a runner has to know before.
  const registered = list === undefined || verb.indexOnly || verb.run ? asProcess : asProcessOf
  // Only one that wants a runner counts as a command that may own it.
  return await registered(open.home, verb.run ? 'add' : 'cli', work, commandId)
}

/** A list that is damaged is a failure, whatever came of the rest of it. */
const codeOf = ({ broken }: Intake): number => (broken > 0 ? EXIT.failed : EXIT.ok)

function sayPlan(options: GlobalOptions, intake: Intake, { tags, maxDepth }: Limits, fresh: NewUrls): number {
  const parts = fresh.list?.parts() ?? []
  for (const part of parts) {
    const lines = urlsOfPart(part).map(({ url, details }) =>
      wantsJson(options) ? `${JSON.stringify(planned(url, tags, details))}\n` : `${url}\n`,
    )
    printText(lines.join(''))
  }
  sayIntake(options, intake, fresh)
  terminal.say(`dry run: ${counted(fresh.list)}, depth ${maxDepth}; nothing was written`)
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
