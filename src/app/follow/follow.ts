import { Bell, sleep } from '../../base/abort.ts'
import { AppError } from '../../base/errors.ts'
import { type CrawlRow, crawlById } from '../../db/crawls.ts'
import type { Home } from '../../db/home.ts'
import { type SealedPage, SealedPages } from '../../db/sealed-pages.ts'
import { explainDatabaseError, isDatabaseAway } from '../../db/trouble.ts'
import { commandOwnsForegroundRunner, liveRunnerProcesses, ownerOf } from '../../runner/ownership.ts'
import type { Archive } from '../archive.ts'
import type { Call } from '../call.ts'

/**
 * How often we look: our own runner tells us when there is something new, another's does not. (It could by NOTIFY, but
 * then every page would pay for a reader who may not exist.)
 */
const LOOK_MS = { other: 500, own: 1_000 } as const
/** Pages may end many times a second. */
const SHORTEST_MS = 80
/** The runner is looked at less often: that asks the operating system, too. */
const RUNNER_LOOK_MS = 500
const SOON_MS = 4_000
/** Only what waits for a person is put off for this long: a century. */
const NEVER_MS = 100 * 365 * 86_400_000
/** How often a database that is away is tried. */
const AWAY_LOOK_MS = 500

/** Our own runner for a crawl, which is started whenever nobody works on it. */
export interface FollowersRunner {
  /** The row of the process that it works for. */
  readonly commandId: string
  /** Rings when a page ended, and when the runner is gone. */
  readonly news: Bell
  readonly isAlive: boolean
  /** Aborts when the working runner has exited. */
  readonly gone: AbortSignal | undefined
  /** Throws AppError when it failed the last time. */
  start(): void
  /** The runner is not needed; ends it if it waits for its work. */
  dismiss(): void
}

export interface FollowInput {
  readonly crawlId: string
  readonly runner?: FollowersRunner
}

/** What happens to a crawl. */
export type FollowEvent =
  | { readonly event: 'pages ended'; readonly pages: readonly SealedPage[] }
  /** Nobody works on it: it is paused, only paused pages are left, or there is no runner. */
  | { readonly event: 'waits'; readonly for: Wait; readonly crawl: CrawlRow }
  /** The last event: the crawl has ended, or `signal` ended this early. */
  | { readonly event: 'sealed'; readonly crawl: CrawlRow }
  | { readonly event: 'stopped' }

type Wait = 'crawl' | 'pages' | 'runner'

/**
 * Follows a crawl until it is sealed and the reader's own runner is gone. Once `signal` has aborted, only the end of
 * that runner is awaited: the caller stops it. Throws AppError when the crawl is deleted, or the database stays away.
 */
export async function* follow(
  archive: Archive,
  { crawlId, runner }: FollowInput,
  { signal }: Pick<Call, 'signal'> = {},
): AsyncGenerator<FollowEvent, void, void> {
  const { home } = archive
  const bell = runner?.news ?? new Bell()
  const wake = () => bell.wake()
  signal?.addEventListener('abort', wake)
  const isOver = () => signal?.aborted === true
  const sealed = new SealedPages(crawlId)
  let told: Wait | undefined
  let runnerLookAt = 0
  try {
    for (;;) {
      try {
        const crawl = await crawlById(home.db, crawlId)
        if (!crawl) throw new AppError(`crawl ${crawlId} was deleted`)
        const pages = await sealed.look(home.db)
        if (pages.length > 0) yield { event: 'pages ended', pages }
        if (crawl.status === 'sealed' && !runner?.isAlive) return yield { event: 'sealed', crawl }
        if (isOver() && !runner?.isAlive) return yield { event: 'stopped' }
        if (crawl.status !== 'sealed' && !runner?.isAlive && performance.now() >= runnerLookAt) {
          runnerLookAt = performance.now() + RUNNER_LOOK_MS
          const wait = await whatItWaitsFor(home, crawl, runner, isOver)
          if (wait !== undefined && wait !== told) yield { event: 'waits', for: wait, crawl }
          told = wait
        }
        await sleep(SHORTEST_MS, runner?.gone)
        await bell.wait(runner?.isAlive ? LOOK_MS.own : LOOK_MS.other - SHORTEST_MS)
      } catch (error) {
        if (!isDatabaseAway(error)) throw error
        // A runner of ours brings it back, or reports what is wrong; without one we do not wait for ever.
        if (runner?.isAlive) await sleep(AWAY_LOOK_MS)
        else if (isOver()) throw explainDatabaseError(error, home.databaseUrl)
        else await archive.untilBack(signal)
      }
    }
  } finally {
    signal?.removeEventListener('abort', wake)
  }
}

/** Starts our own runner where it is needed. @returns what a crawl waits for that nobody works on */
async function whatItWaitsFor(
  home: Home,
  crawl: CrawlRow,
  runner: FollowersRunner | undefined,
  isOver: () => boolean,
): Promise<Wait | undefined> {
  const wait = whoResumes(crawl)
  const isIdle = !(await isRunnerThere(home, runner))
  // A crawl that is put off is not due for a runner: it would only exit again.
  const isDue = wait === undefined && (crawl.retry_at?.getTime() ?? Infinity) <= Date.now() + SOON_MS
  if (isIdle && isDue && !isOver()) runner?.start()
  else runner?.dismiss()
  return wait ?? (isIdle && !runner ? 'runner' : undefined)
}

/** What has to be resumed: a crawl, or the paused pages that alone are left of it; undefined: it goes on by itself. */
function whoResumes({ status, retry_at }: CrawlRow): 'crawl' | 'pages' | undefined {
  if (status === 'paused') return 'crawl'
  return status === 'started' && retry_at && retry_at.getTime() >= Date.now() + NEVER_MS ? 'pages' : undefined
}

/**
 * Whether there is a runner to work for us. One that belongs to a server is, unless we have our own: then we borrow the
 * lead from it.
 */
async function isRunnerThere(home: Home, own: FollowersRunner | undefined): Promise<boolean> {
  const runner = (await liveRunnerProcesses(home)).at(-1)
  if (!runner || !own) return runner !== undefined
  const owner = await ownerOf(home, runner.id)
  return owner?.process_type !== 'server' || !(await commandOwnsForegroundRunner(home, own.commandId))
}
