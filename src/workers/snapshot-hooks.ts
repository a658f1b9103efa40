import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { failpoint } from '../base/failpoint.ts'
import { writtenSince } from '../db/recorded-files.ts'
import type { Hook } from '../hooks/discover.ts'
import type { HostedRun } from '../hooks/hook-host.ts'
import type { HookScope } from '../hooks/launch.ts'
import type { WorkTree } from '../hooks/work-tree.ts'
import { hookRetries } from '../machines/hook-retries.ts'
import { forgetAttempts, type SnapshotClaim } from '../machines/queues.ts'
import { addResults, type ResultRow } from '../machines/results.ts'
import { queueBinaries } from './binaries.ts'
import { Consequences } from './consequences.ts'
import type { CrawlServices } from './crawl-services.ts'
import { earlierEnd, endedBefore } from './ended-before.ts'
import { Findings } from './findings.ts'
import { inRows, isFinal, type OpenHook } from './hook-rows.ts'
import { type HookEnd, type HookSequence, keptLogs, logsFor } from './hook-sequence.ts'
import { settleHooks, type Verdict } from './hook-settle.ts'
import { keepAway } from './host-manners.ts'
import type { PageResults } from './page-results.ts'
import { Postponed } from './postponed.ts'
import { keepStaticfileLog } from './staticfile-log.ts'
import type { WorkerContext } from './worker-context.ts'

/** Hooks of two plugins may have the same name. */
const keyOf = (hook: Hook) => `${hook.plugin}/${hook.name}`

const STATICFILE = 'staticfile'

/** Hooks with their results, without those that have none. */
function pairsOf(hooks: readonly Hook[], results: readonly ResultRow[]): OpenHook[] {
  return hooks.flatMap((hook) => {
    const result = results.find((row) => row.plugin === hook.plugin && row.hook_name === hook.name)
    return result ? [{ hook, result }] : []
  })
}

/** Results that were final before, and the files that they had published, by plugin. */
export interface Repeated {
  readonly results: ReadonlySet<string>
  readonly files: ReadonlyMap<string, readonly string[]>
}

/** The hooks of one snapshot: runs those without a final result in order, and keeps the rows of their results true. */
export class SnapshotHooks {
  readonly findings = new Findings()
  /** What is tried again later. Later hooks wait, too: they may need its output. */
  readonly #postponed: Postponed
  readonly #context: WorkerContext
  readonly #sequence: HookSequence
  readonly #claim: SnapshotClaim
  readonly #tree: WorkTree
  readonly #scope: HookScope
  readonly #abort: AbortSignal
  /** Hooks without a final result, with their rows. */
  readonly #open = new Map<string, OpenHook>()
  readonly #consequences = new Consequences()
  readonly #results: PageResults
  readonly #repeated: Repeated
  readonly #services: CrawlServices
  /** Hooks that need a file, and have no results yet. */
  #late: Hook[] = []
  /** A hook of a user had access to the work tree. */
  #isShared = false
  /** Another process starts right after this one. */
  #isFollowed = false
  /** A hook failed that needs what runs for the whole crawl. */
  #isDoubtful = false
  /** Results of this round that are worth nothing if that was gone. */
  readonly doubtful: OpenHook[] = []
  #interrupted = false
  #gotSomewhere = false

  constructor(
    context: WorkerContext,
    sequence: HookSequence,
    claim: SnapshotClaim,
    tree: WorkTree,
    results: PageResults,
    scope: HookScope,
    abort: AbortSignal,
    repeated: Repeated,
    services: CrawlServices,
  ) {
    this.#context = context
    this.#sequence = sequence
    this.#claim = claim
    this.#tree = tree
    this.#results = results
    this.#scope = scope
    this.#abort = abort
    this.#repeated = repeated
    this.#services = services
    this.#postponed = new Postponed(hookRetries(scope.settings))
  }

  /** Hooks remain to be run: a drain came first, or one failed temporarily. */
  get unfinished(): boolean {
    return this.#open.size > 0 || this.waitMs !== undefined
  }

  /** The wait until a hook that backed off is tried again. */
  get waitMs(): number | undefined {
    return this.#postponed.waitMs
  }

  /** A hook was cut off and none finished in this attempt. */
  get cameToNothing(): boolean {
    return this.#interrupted && !this.#gotSomewhere
  }

  /**
   * @param missing plugins that cannot run, with the reason: their hooks are skipped
   * @param unable plugins whose set-up failed, with the reason: their first hook fails, the others are skipped
   */
  async run(
    hooks: readonly Hook[],
    results: readonly ResultRow[],
    missing: ReadonlyMap<string, string>,
    unable: ReadonlyMap<string, string>,
  ): Promise<void> {
    const open = await this.#begin(hooks, results)
    for (const plugin of unable.keys()) this.#consequences.isDown(plugin)
    const untold = new Map(unable)
    for (const { hook, result } of open) {
      const lacks = missing.get(hook.plugin)
      const failure = untold.get(hook.plugin)
      untold.delete(hook.plugin)
      if (lacks !== undefined) await this.#skip(result, lacks)
      else if (failure !== undefined) await this.#results.add({ result, event: 'fail', output: failure })
      else this.#open.set(keyOf(hook), { hook, result })
    }
    const rows = inRows([...this.#open.values()])
    rows.unshift(...(await this.#addLate(missing)))
    for (const [index, row] of rows.entries()) {
      const isStopped = () => this.#context.stop.drain.aborted || this.#abort.aborted || this.waitMs !== undefined
      if (isStopped()) break
      // The hashes are those of all files, also of what background hooks publish at their end.
      if (rows.slice(index).every((left) => left.every(({ hook }) => hook.readsPublished))) await this.#endBackground()
      if (isStopped()) break
      const able = await this.#able(row)
      if (able[0]) await this.#tellWritten(able[0])
      if (able[0]?.hook.hosted) await this.#runRow(able)
      else if (able[0]) {
        // The start of the next process is written together with the end of this one.
        this.#isFollowed = rows[index + 1]?.[0]?.hook.hosted === false
        await this.#runOne(able[0])
        this.#isFollowed = false
      }
      for (const end of await this.#sequence.reap()) await this.#settle([end])
      rows.splice(index + 1, 0, ...(await this.#addLate(missing)))
      if (await this.lostService()) break
    }
    await this.#endBackground()
    for (const { result } of this.#open.values()) await this.#interrupt(result) // It had not begun.
  }

  /** Once the URL turns out to be a file: what works on it gets its results. @returns rows of hooks to run */
  async #addLate(missing: ReadonlyMap<string, string>): Promise<OpenHook[][]> {
    if (!this.#isFile()) return []
    const hooks = this.#late.splice(0)
    await this.#results.write()
    const results = await addResults(this.#context.owner, this.#claim, hooks)
    for (const { hook, result } of pairsOf(hooks, results)) {
      const lacks = missing.get(hook.plugin)
      if (lacks === undefined) this.#open.set(keyOf(hook), { hook, result })
      else await this.#skip(result, lacks)
    }
    return inRows([...this.#open.values()].filter(({ hook }) => hooks.includes(hook)))
  }

  /** Is the URL a file, on which late hooks are still to work? */
  #isFile(): boolean {
    return this.#late.length > 0 && this.#tree.hasFile(STATICFILE)
  }

  async #interrupt(result: ResultRow): Promise<void> {
    if (this.#results.isRunning(result)) await this.#results.add({ result, event: 'interrupt' })
  }

  async #endBackground(): Promise<void> {
    if (!this.#sequence.hasBackground) return
    await this.#results.write() // The end of what runs in the background may take long.
    const isLeft = ({ hook }: OpenHook) => !hook.readsPublished && !this.#sequence.isRunning(hook)
    const early = [...this.#open.values()].some(isLeft)
    for (const end of await this.#sequence.endBackground(this.#abort, early)) await this.#settle([end])
  }

  /** Has a hook failed because what it needs, and what runs for the whole crawl, is gone? */
  async lostService(): Promise<boolean> {
    if (!this.#isDoubtful) return false
    this.#isDoubtful = await this.#services.haveLostOne()
    return this.#isDoubtful
  }

  /** Fails the open hooks without running them: their worker died at them too often. */
  async giveUp(hooks: readonly Hook[], results: readonly ResultRow[], reason: string): Promise<void> {
    for (const { result } of await this.#begin(hooks, results)) {
      await this.#results.add({ result, event: 'fail', output: reason })
      await failpoint('publish.hook_given_up')
    }
  }

  /**
   * Ends the open hooks of a page that may not be asked for: the first one fails, the others are skipped.
   * @param isForNow the first one is tried again, as one that failed temporarily, and the others wait
   */
  async refuse(
    hooks: readonly Hook[],
    results: readonly ResultRow[],
    reason: string,
    isForNow: boolean,
  ): Promise<void> {
    const open = await this.#begin(hooks, results)
    const first = open[0]?.result
    if (isForNow && first && this.#postponed.hasLeft(first)) {
      await this.#results.add({ result: first, event: 'delay', output: reason })
      this.#postponed.add(first, undefined)
      return
    }
    for (const { result } of open)
      await this.#results.add({ result, ...this.#consequences.told(result.plugin, { event: 'fail', output: reason }) })
  }

  /** The hooks of a row that can run; one that needs failed output is skipped. */
  async #able(row: readonly OpenHook[]): Promise<OpenHook[]> {
    const able: OpenHook[] = []
    for (const one of row) {
      const lacks = this.#consequences.lacking(one.hook)
      if (lacks === undefined) able.push(one)
      else {
        await this.#skip(one.result, lacks)
        this.#open.delete(keyOf(one.hook))
      }
    }
    return able
  }

  async #skip(result: ResultRow, output: string): Promise<void> {
    await this.#results.add({ result, event: 'skip', output })
    this.#consequences.note(result.plugin, 'skipped', output)
  }

  /**
   * Takes over from earlier rounds: their findings, and hooks that ended before their worker died.
   * @returns the hooks still to be run
   */
  async #begin(hooks: readonly Hook[], results: readonly ResultRow[]): Promise<OpenHook[]> {
    const all = pairsOf(hooks, results)
    this.#late = hooks.filter((hook) => hook.needsFile && !all.some((one) => one.hook === hook))
    const adopted = this.#tree.hasLeftovers ? await this.#adopt(all, results) : []
    await this.#tree.open(this.#repeated.files)
    for (const { hook } of adopted) this.#tree.dirFor(hook.plugin)
    for (const one of all) if (isFinal(one.result)) await this.#recall(one, all)
    return all.filter((one) => !isFinal(one.result) && !adopted.includes(one))
  }

  /** Takes over the hosted hooks that ended although their worker died before it wrote that down. */
  async #adopt(all: readonly OpenHook[], results: readonly ResultRow[]): Promise<OpenHook[]> {
    const finished = endedBefore(all, results, this.#tree, this.#repeated.results)
    await this.#tree.reconcilePublished()
    for (const one of finished) this.#open.set(keyOf(one.hook), one)
    await this.#settle(finished.map((one) => earlierEnd(one, this.#tree, this.#context.owner.processId)))
    return finished
  }

  async #runRow(row: readonly OpenHook[]): Promise<void> {
    // What a lost host leaves may need what has failed in it.
    for (let left = row; left.length > 0; ) left = await this.#able(await this.#runUntilLost(left))
  }

  /** @returns the hooks that are left because the host was lost: killed, or gone by itself */
  async #runUntilLost(row: readonly OpenHook[]): Promise<readonly OpenHook[]> {
    const runs: HostedRun[] = []
    for (const { hook, result } of row) {
      await this.#restore(hook)
      const logs = logsFor(this.#tree.root, hook, result.attempt)
      runs.push({ hook, outputDir: this.#tree.dirFor(hook.plugin), logs })
    }
    let host = ''
    const begin = async (hook: Hook, processId: string) => {
      host = processId
      if (this.#results.isKnown(processId)) return
      await this.#started(row.find((one) => one.hook === hook)!.result, processId)
    }
    let left = row
    for await (const ends of this.#sequence.row(this.#scope, runs, this.#abort, begin)) {
      left = left.slice(ends.length)
      await this.#settle(ends, left.length === 0)
      const { cause, exit } = ends.at(-1)!
      if (cause === 'timeout' || (cause === 'exit' && exit.signal)) return left
      // Writes the progress of a row that takes long.
      const goesOn = left.length > 0 && cause === 'exit' && !this.#context.stop.drain.aborted
      if (goesOn) await this.#started(left[0]!.result, host)
    }
    return []
  }

  async #runOne({ hook, result }: OpenHook): Promise<void> {
    const logs = logsFor(this.#tree.root, hook, result.attempt)
    const started = (processId: string) => this.#started(result, processId)
    await this.#restore(hook)
    this.#isShared = true
    const way = hook.background ? 'background' : 'foreground'
    const end = await this.#sequence[way](this.#scope, hook, this.#tree.dirFor(hook.plugin), logs, this.#abort, started)
    if (end) await this.#settle([end])
  }

  /** Tells a hook that reads published files which of them are new to it, unless all are. */
  async #tellWritten({ hook: { plugin, readsPublished }, result }: OpenHook): Promise<void> {
    if (!readsPublished || result.attempt === 1) return
    await this.#results.write()
    const paths = await writtenSince(this.#context.owner.home.db, this.#claim.id, plugin)
    writeFileSync(join(this.#tree.work, `.written-since-${plugin}.json`), JSON.stringify(paths))
  }

  async #started(result: ResultRow, processId: string): Promise<void> {
    await this.#results.write({ result, processId })
    await failpoint('spawn.hook_recorded')
  }

  async #restore({ plugin }: Hook): Promise<void> {
    const isRunning = [...this.#open.values()].some(
      ({ hook }) => hook.plugin === plugin && this.#sequence.isRunning(hook),
    )
    if (!isRunning) await this.#tree.restore(plugin)
  }

  /** @param rowIsOver no hook is running in the host */
  async #settle(ends: readonly HookEnd[], rowIsOver = false): Promise<void> {
    if (ends.length === 0) return
    const ended = ends.map((end) => ({ end, ...this.#open.get(keyOf(end.hook))! }))
    const rest = [...this.#open.values()].filter(({ hook }) => !ends.some((end) => end.hook === hook))
    const verdicts = await settleHooks(
      this.#tree,
      ended.map(({ hook, result, end }) => ({
        hook,
        attempt: result.attempt,
        end,
        isLast: !rest.some((other) => other.hook.plugin === hook.plugin),
        published: end.published,
        mayRetry: this.#postponed.mayWaitForServer(result),
      })),
      rowIsOver && !this.#isShared && !this.#isFile() && rest.every(({ hook }) => hook.readsPublished),
    )
    await Promise.all(ends.map(({ recorded }) => recorded))
    for (const [index, { hook, result, end }] of ended.entries()) await this.#take(hook, result, end, verdicts[index]!)
    if (!this.#isFollowed && !ends.every(({ hook }) => hook.hosted)) await this.#results.write()
    await failpoint('publish.hook_settled')
  }

  async #take(hook: Hook, result: ResultRow, end: HookEnd, { records, ...judged }: Verdict): Promise<void> {
    if (judged.event === 'skip' && this.#postponed.isMissingIn(judged.output)) return await this.#interrupt(result)
    const isLast = judged.event === 'delay' && !this.#postponed.hasLeft(result)
    const isAside = hook.background && this.#sequence.runsBefore(hook)
    const { event, ...output } = this.#consequences.told(
      hook.plugin,
      isLast ? { ...judged, event: 'fail' as const } : judged,
      isAside,
    )
    const isEnd = event !== 'interrupt' && event !== 'delay'
    const isInNeed = (event === 'fail' || hook.background) && this.#services.areNeededBy(hook)
    // Later hooks of the row have made do without it.
    if (isEnd && (isInNeed || this.#isDoubtful)) {
      this.doubtful.push({ hook, result })
      this.#isDoubtful ||= event === 'fail'
    }
    if (hook.background && !isAside && event === 'fail') this.#consequences.isDown(hook.plugin)
    // Before the result becomes final: if we died in between, nobody would queue them.
    if (event !== 'interrupt') await queueBinaries(this.#context, records.binaries)
    await failpoint('publish.hook_settling')
    const { processId, began, ended } = end
    await this.#results.add({
      result,
      event,
      processId,
      ...output,
      ...(began === undefined ? {} : { began }),
      ...(ended === undefined ? {} : { ended }),
    })
    this.#interrupted ||= event === 'interrupt'
    if (event === 'interrupt') return
    // Where a hook has been before, it got nowhere new: a page that ends its worker later on must be given up some day.
    if (!this.#repeated.results.has(result.id)) await this.#progressed()
    this.#open.delete(keyOf(hook))
    const awayMs = event === 'delay' ? this.#postponed.add(result, judged.json) : undefined
    if (awayMs !== undefined) await keepAway(this.#context.owner, this.#claim.row.url, this.#scope.settings, awayMs)
    if (event !== 'delay') this.#postponed.hasEnded(judged.json)
    this.findings.add(records)
    // Our own hooks print what they find.
    if (event === 'succeed' && !hook.hosted) await this.findings.readUrls(this.#tree.dirFor(hook.plugin))
    this.#context.log.debug(`${hook.name} on ${this.#claim.row.url} ${event}: ${output.output}`)
  }

  /** Forgets earlier failed attempts once a hook has ended. */
  async #progressed(): Promise<void> {
    if (!this.#gotSomewhere && this.#claim.attempts > 1) await forgetAttempts(this.#context.owner.home.db, this.#claim)
    this.#gotSomewhere = true
  }

  /** Reads what a hook of an earlier round found from its log and files. */
  async #recall({ hook, result }: OpenHook, all: readonly OpenHook[]): Promise<void> {
    // As in `#take`, as far as results tell.
    const ranBefore = ({ hook: { plugin, name, background }, result: { status } }: OpenHook) =>
      background && plugin === hook.plugin && name < hook.name && (status === 'succeeded' || status === 'queued')
    if (!(hook.background && all.some(ranBefore)))
      this.#consequences.note(hook.plugin, result.status, result.output_str)
    this.#postponed.recall(result)
    this.#tree.dirFor(hook.plugin) // Tells later hooks that this one ran.
    const logs = keptLogs(this.#tree.root, hook, result.attempt)
    if (!logs) return
    if (result.status === 'succeeded') keepStaticfileLog(this.#tree, hook.plugin, logs.stdout, result.output_str)
    await this.findings.recall(logs.stdout, join(this.#tree.root, hook.plugin))
  }
}
