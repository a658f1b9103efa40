import type { Archive } from '../app/archive.ts'
import { type FollowEvent, follow as followCrawl } from '../app/follow/follow.ts'
import { EXIT } from '../base/errors.ts'
import { endText, type LineIds } from '../base/log.ts'
import { onStopSignals } from '../base/stop-signals.ts'
import type { CrawlRow } from '../db/crawls.ts'
import type { Home } from '../db/home.ts'
import type { SealedPage } from '../db/sealed-pages.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import { liveRunnerProcesses } from '../runner/ownership.ts'
import { report } from './follow-report.ts'
import { LiveView } from './live-view.ts'
import type { GlobalOptions } from './options.ts'
import type { OwnRunner } from './own-runner.ts'
import { onStderr } from './screen/palette.ts'
import { terminal } from './terminal.ts'
import { toType } from './to-type.ts'

/** A command that follows a crawl: its runner, if any, and whether it is to run the crawl itself. */
export interface Follower {
  readonly runner: OwnRunner
  readonly run: boolean
}

/**
 * Follows a crawl until it is sealed, reports how each page ended, and where its pages are. With `run`, a runner for
 * this crawl is started whenever there is none.
 * @returns the exit code: 10 when some page failed, 130 when a signal ended it early
 */
export async function follow(open: Archive, options: GlobalOptions, { runner, run }: Follower): Promise<number> {
  const { home } = open
  const { crawlId } = runner
  home.db.patience = undefined // As long as its runner is alive, we wait.
  const interrupt = new AbortController()
  const view = options.quiet || !terminal.isLive ? undefined : new LiveView(home, open.settings, crawlId)
  const unlisten = onStopSignals((signal) => {
    // The runner decides what a second and a third signal mean. On a terminal it gets them itself, and takes ours for
    // the same.
    runner.signal(signal)
    interrupt.abort()
    view?.stops(signal)
  })
  let last: FollowEvent | undefined
  try {
    const { signal } = interrupt
    for await (const event of followCrawl(open, { crawlId, ...(run && { runner }) }, { signal })) {
      last = event
      if (event.event === 'waits') terminal.say(waitText(options, event))
      if (event.event !== 'pages ended') continue
      await sayEnds(home, options, event.pages)
      view?.news()
    }
    view?.end()
    if (last?.event === 'sealed') return await report(open, options, last.crawl)
    const way = onStderr.bold(toType(options, 'archivebox-ts run'))
    terminal.say(`stopped before the end; ${way} goes on with crawl ${crawlId}`)
    return EXIT.interrupted
  } finally {
    unlisten()
    view?.end()
  }
}

/** Reports how pages ended, and which runner ran them, in lines for programs. */
async function sayEnds(home: Home, options: GlobalOptions, pages: readonly SealedPage[]): Promise<void> {
  if (terminal.json) terminal.ids = { ...terminal.ids, ...(await runnerIds(home)) }
  for (const { id, ...page } of options.quiet ? [] : pages) {
    const ids = { ...terminal.ids, snapshot_id: id }
    terminal.log({ level: 'info', role: 'page', text: endText(page), ids, page })
  }
}

/** None when the database is away: the pages are reported all the same. */
async function runnerIds(home: Home): Promise<LineIds> {
  try {
    const runner = (await liveRunnerProcesses(home)).at(-1)
    return runner ? { runner_id: runner.id } : {}
  } catch (error) {
    if (isDatabaseAway(error)) return {}
    throw error
  }
}

const RESUME = {
  crawl: ({ id }: CrawlRow) => `archivebox-ts crawl resume ${id}`,
  pages: ({ id }: CrawlRow) =>
    `archivebox-ts snapshot list --crawl-id ${id} --status paused | archivebox-ts snapshot resume -`,
}

function waitText(options: GlobalOptions, { for: wait, crawl }: Extract<FollowEvent, { event: 'waits' }>): string {
  const way = onStderr.bold(toType(options, wait === 'runner' ? 'archivebox-ts run' : RESUME[wait](crawl)))
  return wait === 'runner'
    ? `no runner is there to work on it: start one with ${way}`
    : `paused: ${way} goes on with it`
}
