import type { Archive } from '../app/archive.ts'
import { Bell, sleep } from '../base/abort.ts'
import { AppError, EXIT } from '../base/errors.ts'
import { endText, type LineIds } from '../base/log.ts'
import { onStopSignals } from '../base/stop-signals.ts'
import { type CrawlRow, crawlById } from '../db/crawls.ts'
import type { Home } from '../db/home.ts'
import { SealedPages } from '../db/sealed-pages.ts'
import { explainDatabaseError, isDatabaseAway } from '../db/trouble.ts'
import { commandOwnsForegroundRunner, liveRunnerProcesses, ownerOf } from '../runner/ownership.ts'
import { report } from './follow-report.ts'
import { LiveView } from './live-view.ts'
import type { GlobalOptions } from './options.ts'
import type { OwnRunner } from './own-runner.ts'
import { onStderr } from './screen/palette.ts'
import { terminal } from './terminal.ts'

/**
 * How often it is looked at: one of our own tells us when there is something new, another's does not. (It could by
 * NOTIFY, but then each page would pay for somebody who may not be there.)
 */
const LOOK_MS = { other: 500, own: 1_000 } as const
/** Pages may end many times a second. */
const SHORTEST_MS = 80
/** Who works on it is looked at less often: that asks the operating system, too. */
const RUNNER_LOOK_MS = 500
const SOON_MS = 4_000
/** Nothing is put off for so long but what waits for a person: a century. */
const NEVER_MS = 100 * 365 * 86_400_000
/** A database that is away is looked for so often. */
const AWAY_LOOK_MS = 500

/** A command that follows a crawl: the runner that it may have, and whether it is to run the crawl itself. */
export interface Follower {
  readonly runner: OwnRunner
  readonly run: boolean
}

/**
 * Follows a crawl until it is sealed, says how each page ended, and reports where its pages lie. With `run`, a runner
 * for this crawl is started whenever there is none.
 * @returns the exit code: 10 when some page failed, 130 when a signal ended it before
 */
export async function follow(open: Archive, options: GlobalOptions, by: Follower): Promise<number> {
  const { home } = open
  const { runner } = by
  const { crawlId } = runner
  home.db.patience = undefined // Whose runner is alive is waited for, however long it takes.
  const interrupt = new AbortController()
  const bell = new Bell()
  const onNews = () => bell.wake()
  runner.onNews = onNews
  const view = options.quiet || !terminal.isLive ? undefined : new LiveView(home, open.settings, crawlId)
  const unlisten = onStopSignals((signal) => {
    // The runner decides what a second and a third one mean; in a terminal it hears them by itself, and takes ours for
    // the same.
    runner.signal(signal)
    interrupt.abort()
    onNews()
    view?.stops(signal)
  })
  try {
    const crawl = await untilSealed(open, options, by, { view, bell, stop: interrupt.signal })
    view?.end()
    if (crawl) return await report(home, options, crawl)
    terminal.say(`stopped before the end; ${onStderr.bold('archivebox-ts run')} goes on with crawl ${crawlId}`)
    return EXIT.interrupted
  } finally {
    unlisten()
    view?.end()
  }
}

interface Following {
  readonly view: LiveView | undefined
  /** Rings when there may be something new. */
  readonly bell: Bell
  /** Aborts when the person wants to stop. */
  readonly stop: AbortSignal
}

/**
 * Says how pages end until the crawl is sealed and our runner gone.
 * @returns the crawl; undefined when it was stopped before
 */
async function untilSealed(
  open: Archive,
  options: GlobalOptions,
  by: Follower,
  { view, bell, stop }: Following,
): Promise<CrawlRow | undefined> {
  const { home } = open
  const { runner } = by
  const { crawlId } = runner
  const sealed = new SealedPages(crawlId)
  let said: string | undefined
  let runnerLookAt = 0
  for (;;) {
    try {
      const crawl = await crawlById(home.db, crawlId)
      if (!crawl) throw new AppError(`crawl ${crawlId} was deleted`)
      const ends = await sealed.look(home.db)
      if (terminal.json && ends.length > 0) terminal.ids = { ...terminal.ids, ...(await runnerIds(home)) }
      for (const { id, ...page } of options.quiet ? [] : ends) {
        const ids = { ...terminal.ids, snapshot_id: id }
        terminal.log({ level: 'info', role: 'page', text: endText(page), ids, page })
      }
      if (ends.length > 0) view?.news()
      if (crawl.status === 'sealed' && !runner.isAlive) return crawl
      if (stop.aborted && !runner.isAlive) return undefined
      if (crawl.status !== 'sealed' && !runner.isAlive && performance.now() >= runnerLookAt) {
        runnerLookAt = performance.now() + RUNNER_LOOK_MS
        const resume = howToResume(crawl)
        const isIdle = !(await isRunnerThere(home, by))
        // One that is put off is not due for a runner: it would only leave again.
        const isDue = resume === undefined && (crawl.retry_at?.getTime() ?? Infinity) <= Date.now() + SOON_MS
        if (isIdle && by.run && isDue && !stop.aborted) runner.start()
        else runner.dismiss()
        const news =
          resume !== undefined
            ? `paused: ${onStderr.bold(resume)} goes on with it`
            : isIdle && !by.run
              ? `no runner is there to work on it: start one with ${onStderr.bold('archivebox-ts run')}`
              : undefined
        if (news !== undefined && news !== said) terminal.say(news)
        said = news
      }
      await sleep(SHORTEST_MS, runner.gone)
      await bell.wait(runner.isAlive ? LOOK_MS.own : LOOK_MS.other - SHORTEST_MS)
    } catch (error) {
      if (!isDatabaseAway(error)) throw error
      // A runner of ours brings it back, or says what is wrong; nobody waits for ever without one.
      if (runner.isAlive) await sleep(AWAY_LOOK_MS)
      else if (stop.aborted) throw explainDatabaseError(error, home.databaseUrl)
      else await open.untilBack(stop)
    }
  }
}

/** What resumes a crawl that is paused, or of which only paused pages are left; undefined: it goes on by itself. */
function howToResume({ id, status, retry_at }: CrawlRow): string | undefined {
  if (status === 'paused') return `archivebox-ts crawl resume ${id}`
  if (status !== 'started' || !retry_at || retry_at.getTime() < Date.now() + NEVER_MS) return undefined
  return `archivebox-ts snapshot list --crawl-id ${id} --status paused | archivebox-ts snapshot resume -`
}

/**
 * Is there a runner to work for us? One that belongs to a server does, unless we are to run: then we borrow the lead
 * from it.
 */
async function isRunnerThere(home: Home, by: Follower): Promise<boolean> {
  const runner = (await liveRunnerProcesses(home)).at(-1)
  if (!runner || !by.run) return runner !== undefined
  const owner = await ownerOf(home, runner.id)
  return owner?.process_type !== 'server' || !(await commandOwnsForegroundRunner(home, by.runner.commandId))
}

/** Who runs it now, for lines that programs read. */
async function runnerIds(home: Home): Promise<LineIds> {
  const runner = (await liveRunnerProcesses(home)).at(-1)
  return runner ? { runner_id: runner.id } : {}
}
