import { join } from 'node:path'
import { attemptName, HOSTED_LOG } from '../../base/attempt-paths.ts'
import { lacksSpace } from '../../base/disk-space.ts'
import { failpoint } from '../../base/failpoint.ts'
import { forgetEnds, type LoggedEnd } from '../../base/row-log.ts'
import type { Hook } from '../../hooks/discover.ts'
import type { HookScope } from '../../hooks/launch.ts'
import { recordsOf } from '../../hooks/records.ts'
import type { WorkTree } from '../../hooks/work-tree.ts'
import { hookRetries } from '../../machines/archive-result.ts'
import { forgetAttempts, type SnapshotClaim } from '../../machines/queues.ts'
import type { ResultRow } from '../../machines/results.ts'
import { queueBinaries } from '../sequence/binaries.ts'
import { type HookEnd, type HookSequence, keptLogs, logsFor } from '../sequence/hook-sequence.ts'
import { settleHooks, type Verdict } from '../sequence/hook-settle.ts'
import { keepStaticfileLog } from '../sequence/staticfile-log.ts'
import type { WorkerContext } from '../supervise/worker-context.ts'
import { Consequences } from './consequences.ts'
import type { CrawlServices } from './crawl-services.ts'
import { isTold } from './ended-before.ts'
import { Findings } from './findings.ts'
import { areOfAllFiles } from './hashed-files.ts'
import { type OpenHook, OpenHooks } from './hook-rows.ts'
import { keepAway } from './host-manners.ts'
import { LateHooks } from './late-hooks.ts'
import type { PageResults } from './page-results.ts'
import { Postponed } from './postponed.ts'

/** Results that were final before, and the files that they had published, by plugin. */
export interface Repeated {
  readonly results: ReadonlySet<string>
  readonly files: ReadonlyMap<string, readonly string[]>
}

/** A page in work, with all that its hooks need. */
export interface PageWork {
  readonly context: WorkerContext
  readonly sequence: HookSequence
  readonly claim: SnapshotClaim
  readonly tree: WorkTree
  readonly results: PageResults
  readonly scope: HookScope
  readonly abort: AbortSignal
  readonly repeated: Repeated
  readonly services: CrawlServices
}

/** What follows from the ends of a page's hooks: verdicts, files, results, and what becomes of the other hooks. */
export class HookEnds {
  /** Hooks without a final result. */
  readonly open = new OpenHooks()
  readonly findings = new Findings()
  readonly consequences = new Consequences()
  /** What is tried again later. Later hooks wait, too: they may need its output. */
  readonly postponed: Postponed
  /** Results of this round that are worth nothing if what runs for the whole crawl was gone. */
  readonly doubtful: OpenHook[] = []
  /** What works on a file, where the URL turns out to be one. */
  readonly late: LateHooks
  /** A hook of a user had access to the work tree. */
  isShared = false
  /** A hook has ended that had not ended in an earlier attempt at the page. */
  gotSomewhere = false
  /** Another process starts right after this one. */
  isFollowed = false
  readonly #work: PageWork
  /** A hook failed that needs what runs for the whole crawl. */
  #isDoubtful = false
  #interrupted = false

  constructor(work: PageWork) {
    this.#work = work
    this.postponed = new Postponed(hookRetries(work.scope.settings))
    this.late = new LateHooks(work)
  }

  /** A hook was cut off and none finished in this attempt. */
  get cameToNothing(): boolean {
    return this.#interrupted && !this.gotSomewhere
  }

  /** Has a hook failed because what it needs, and what runs for the whole crawl, is gone? */
  async lostService(): Promise<boolean> {
    if (!this.#isDoubtful) return false
    this.#isDoubtful = await this.#work.services.haveLostOne()
    return this.#isDoubtful
  }

  /**
   * Judges hooks that have ended, publishes their files and records their results.
   * @param rowIsOver no hook is running in the host
   * @param ahead one that may have read what the others left before that was published: it stays open unless it saw
   *   just what is published in the end
   * @returns the verdicts, in the order of `ends`
   */
  async settle(ends: readonly HookEnd[], rowIsOver = false, ahead?: OpenHook): Promise<Verdict[]> {
    if (ends.length === 0) return []
    const ended = ends.map((end) => ({ end, ...this.open.get(end.hook) }))
    const rest = this.open.all.filter(({ hook }) => !ends.some((end) => end.hook === hook))
    const verdicts = await settleHooks(
      this.#work.tree,
      ended.map(({ hook, result, end }) => ({
        hook,
        attempt: result.attempt,
        end,
        isLast: !rest.some((other) => other.hook.plugin === hook.plugin),
        published: end.published,
        mayRetry: this.postponed.mayWaitForServer(result),
      })),
      rowIsOver && this.areMoved(rest),
      () => this.#hasRoom(),
    )
    await Promise.all(ends.map(({ recorded }) => recorded))
    for (const [index, { hook, result, end }] of ended.entries()) {
      if (hook === ahead?.hook && !areOfAllFiles(this.#work.tree.root)) await this.#repeat(ahead)
      else await this.#take(hook, result, end, verdicts[index]!)
    }
    if (!this.isFollowed && !ends.every(({ hook }) => hook.hosted)) await this.#work.results.write()
    await failpoint('publish.hook_settled')
    return verdicts
  }

  /** Are files published as they are? Nobody has, or will have, access to the work tree but our own hooks. */
  areMoved(rest: readonly OpenHook[]): boolean {
    return !this.isShared && !this.late.areWanted && rest.every(({ hook }) => hook.readsPublished)
  }

  /** The ends that count: of a hook that ran ahead, unless hooks come before it that nobody knew of. */
  async counting(ends: readonly HookEnd[], ahead: OpenHook | undefined): Promise<readonly HookEnd[]> {
    const isInVain = ahead && this.late.areWanted && ends.some(({ hook }) => hook === ahead.hook)
    if (!isInVain) return ends
    await this.#repeat(ahead)
    return ends.filter(({ hook }) => hook !== ahead.hook)
  }

  /** Leaves a hook open that has ended. What it published is no output of it: the next time it may find nothing. */
  async #repeat({ hook, result }: OpenHook): Promise<void> {
    const { tree } = this.#work
    forgetEnds(join(tree.root, HOSTED_LOG), [attemptName(hook.plugin, hook.name, result.attempt)])
    if (!result.has_files) await tree.withdraw(hook.plugin)
    await this.interrupt(result)
  }

  #hasRoom(): boolean {
    const { owner, settings } = this.#work.context
    return lacksSpace(owner.home.dataDir, settings.config.DISK_FLOOR) === undefined
  }

  async #take(hook: Hook, result: ResultRow, end: HookEnd, { records, ...judged }: Verdict): Promise<void> {
    const { context, sequence, claim, tree, results, scope, repeated, services } = this.#work
    if (judged.event === 'skip' && this.postponed.waitsToo(result, judged.output)) return await this.interrupt(result)
    const isLast = judged.event === 'delay' && !this.postponed.hasLeft(result)
    const isAside = hook.background && sequence.runsBefore(hook)
    const { event, ...output } = this.consequences.told(
      hook.plugin,
      isLast ? { ...judged, event: 'fail' as const } : judged,
      isAside,
    )
    const isEnd = event !== 'interrupt' && event !== 'delay'
    const isInNeed = (event === 'fail' || hook.background) && services.areNeededBy(hook)
    // Later hooks of the row have made do without it.
    if (isEnd && (isInNeed || this.#isDoubtful)) {
      this.doubtful.push({ hook, result })
      this.#isDoubtful ||= event === 'fail'
    }
    if (hook.background && !isAside && event === 'fail') this.consequences.isDown(hook.plugin)
    // Before the result becomes final: if we died in between, nobody would queue them.
    if (event !== 'interrupt') await queueBinaries(context, records.binaries)
    await failpoint('publish.hook_settling')
    const { processId, began, ended } = end
    const change = {
      result,
      event,
      processId,
      ...output,
      ...(began === undefined ? {} : { began }),
      ...(ended === undefined ? {} : { ended }),
    }
    await results.add(change, isTold({ hook, result }, repeated.results))
    this.#interrupted ||= event === 'interrupt'
    if (event === 'interrupt') return
    // Where a hook has been before, it got nowhere new: a page that ends its worker later on must be given up some day.
    if (!repeated.results.has(result.id)) await this.#progressed()
    this.open.delete(hook)
    const awayMs = event === 'delay' ? this.postponed.add(result, judged.json) : undefined
    if (awayMs !== undefined) await keepAway(context.owner, claim.row.url, scope.settings, awayMs)
    if (event !== 'delay') this.postponed.hasEnded(judged.json)
    this.findings.add(records)
    // Our own hooks print what they find.
    if (event === 'succeed' && !hook.hosted) await this.findings.readUrls(tree.dirFor(hook.plugin))
    context.log.debug(`${hook.name} on ${claim.row.url} ${event}: ${output.output}`)
  }

  /** Forgets earlier failed attempts once a hook has ended. */
  async #progressed(): Promise<void> {
    const { context, claim } = this.#work
    if (!this.gotSomewhere && claim.attempts > 1) await forgetAttempts(context.owner.home.db, claim)
    this.gotSomewhere = true
  }

  /** Queues a result again whose hook was to run, or was cut off. */
  async interrupt(result: ResultRow): Promise<void> {
    const { results } = this.#work
    if (results.isRunning(result)) await results.add({ result, event: 'interrupt' })
  }

  /**
   * Skips a hook without running it.
   * @param isTold as for `PageResults.add`
   */
  async skip(result: ResultRow, output: string, isTold = false): Promise<void> {
    await this.#work.results.add({ result, event: 'skip', output }, isTold)
    this.consequences.note(result.plugin, 'skipped', output)
  }

  /**
   * Reads what a hook of an earlier round found from what it printed and its files.
   * @param all the hooks of the page
   * @param log of those that ran in a host
   */
  async recall(
    { hook, result }: OpenHook,
    all: readonly OpenHook[],
    log: ReadonlyMap<string, LoggedEnd>,
  ): Promise<void> {
    const { tree } = this.#work
    // As in `#take`, as far as results tell.
    const ranBefore = ({ hook: { plugin, name, background }, result: { status } }: OpenHook) =>
      background && plugin === hook.plugin && name < hook.name && (status === 'succeeded' || status === 'queued')
    if (!(hook.background && all.some(ranBefore))) this.consequences.note(hook.plugin, result.status, result.output_str)
    this.postponed.recall(result)
    tree.dirFor(hook.plugin) // Tells later hooks that this one ran.
    const logged = log.get(attemptName(hook.plugin, hook.name, result.attempt))
    const logs = logged ? logsFor(tree.root, hook, result.attempt) : keptLogs(tree.root, hook, result.attempt)
    // A power cut may have undone the log, and not the files.
    if (logs || result.status === 'succeeded') await this.findings.readUrls(join(tree.root, hook.plugin))
    if (!logs) return
    const printed = { logs, stdout: logged?.stdout }
    if (result.status === 'succeeded') keepStaticfileLog(tree, hook.plugin, printed, result.output_str)
    this.findings.add(await recordsOf(printed))
  }
}
