import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { failpoint } from '../base/failpoint.ts'
import type { Hook } from '../hooks/discover.ts'
import { finishedRun, type HostedRun, hasFinished } from '../hooks/hook-host.ts'
import type { HookScope } from '../hooks/launch.ts'
import { readRecords, readUrlsFile, type SnapshotRecord } from '../hooks/records.ts'
import type { WorkTree } from '../hooks/work-tree.ts'
import { type HookRetries, hookRetries } from '../machines/hook-retries.ts'
import { forgetAttempts, type SnapshotClaim } from '../machines/queues.ts'
import type { ResultRow } from '../machines/results.ts'
import { queueBinaries } from './binaries.ts'
import { Consequences } from './consequences.ts'
import { type HookEnd, type HookSequence, keptLogs, logsFor } from './hook-sequence.ts'
import { keepStdoutForSiblings, settleHooks, type Verdict } from './hook-settle.ts'
import type { PageResults } from './page-results.ts'
import type { WorkerContext } from './worker-context.ts'

const FINAL = new Set<string>(['succeeded', 'failed', 'skipped', 'noresults'])

/** Hooks of two plugins may have the same name. */
const keyOf = (hook: Hook) => `${hook.plugin}/${hook.name}`

interface OpenHook {
  readonly hook: Hook
  readonly result: ResultRow
}

/**
 * Splits hooks into rows, each of which the host runs as one job. No row has two hooks of one plugin, or a hook that
 * requires another one in it; a hook that reads published files begins a new row.
 */
function inRows(open: readonly OpenHook[]): OpenHook[][] {
  const rows: OpenHook[][] = []
  for (const one of open) {
    const row = rows.at(-1)
    const joins =
      one.hook.hosted &&
      !one.hook.readsPublished &&
      row?.every(({ hook }) => hook.hosted && ![one.hook.plugin, ...one.hook.requires].includes(hook.plugin))
    if (joins) row!.push(one)
    else rows.push([one])
  }
  return rows
}

/** The hooks of one snapshot: runs those without a final result in order, and keeps the rows of their results true. */
export class SnapshotHooks {
  /** Pages and tags found by the hooks, including those of earlier rounds. */
  readonly pages: SnapshotRecord[] = []
  readonly tags: string[] = []
  /** The wait until a hook that backed off is tried again. Later hooks wait, too: they may need its output. */
  waitMs: number | undefined
  readonly #context: WorkerContext
  readonly #sequence: HookSequence
  readonly #claim: SnapshotClaim
  readonly #tree: WorkTree
  readonly #scope: HookScope
  readonly #abort: AbortSignal
  readonly #retries: HookRetries
  /** Hooks without a final result, with their rows. */
  readonly #open = new Map<string, OpenHook>()
  readonly #consequences = new Consequences()
  readonly #results: PageResults
  /** A hook of a user had access to the work tree. */
  #isShared = false
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
  ) {
    this.#context = context
    this.#sequence = sequence
    this.#claim = claim
    this.#tree = tree
    this.#results = results
    this.#scope = scope
    this.#abort = abort
    this.#retries = hookRetries(scope.settings)
  }

  /** Hooks remain to be run: a drain came first, or one failed temporarily. */
  get unfinished(): boolean {
    return this.#open.size > 0 || this.waitMs !== undefined
  }

  /** A hook was cut off and none finished in this attempt. */
  get cameToNothing(): boolean {
    return this.#interrupted && !this.#gotSomewhere
  }

  /** @param missing plugins that cannot run, with the reason: their hooks are skipped */
  async run(
    hooks: readonly Hook[],
    results: readonly ResultRow[],
    missing: ReadonlyMap<string, string>,
  ): Promise<void> {
    for (const { hook, result } of await this.#begin(hooks, results)) {
      const lacks = missing.get(hook.plugin)
      if (lacks === undefined) this.#open.set(keyOf(hook), { hook, result })
      else await this.#skip(result, lacks)
    }
    for (const row of inRows([...this.#open.values()])) {
      if (this.#context.stop.drain.aborted || this.#abort.aborted || this.waitMs !== undefined) break
      const able = await this.#able(row)
      if (able[0]?.hook.hosted) await this.#runRow(able)
      else if (able[0]) await this.#runOne(able[0])
      for (const end of await this.#sequence.reap()) await this.#settle([end])
    }
    const early = [...this.#open.values()].some(({ hook }) => !this.#sequence.isRunning(hook))
    for (const end of await this.#sequence.endBackground(this.#abort, early)) await this.#settle([end])
    for (const { result } of this.#open.values())
      if (this.#results.isRunning(result)) await this.#results.add({ result, event: 'interrupt' }) // It had not begun.
  }

  /** Fails the open hooks without running them: their worker died at them too often. */
  async giveUp(hooks: readonly Hook[], results: readonly ResultRow[], reason: string): Promise<void> {
    for (const { result } of await this.#begin(hooks, results)) {
      await this.#results.add({ result, event: 'fail', output: reason })
      await failpoint('publish.hook_given_up')
    }
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
    const all = hooks.map((hook) => ({
      hook,
      result: results.find((row) => row.plugin === hook.plugin && row.hook_name === hook.name)!,
    }))
    const adopted = this.#tree.hasLeftovers ? await this.#adopt(all) : []
    await this.#tree.open()
    for (const { hook } of adopted) this.#tree.dirFor(hook.plugin)
    for (const { hook, result } of all) if (FINAL.has(result.status)) await this.#recall(hook, result)
    return all.filter((one) => !FINAL.has(one.result.status) && !adopted.includes(one))
  }

  /**
   * Hosted hooks that ended although their worker died before it wrote that down: their logs are complete. First
   * attempts only, where the files in the plugin's folder can be from no other attempt.
   */
  async #adopt(all: readonly OpenHook[]): Promise<OpenHook[]> {
    const open = all.filter(({ result }) => !FINAL.has(result.status))
    const isAlone = ({ hook }: OpenHook) => all.filter((other) => other.hook.plugin === hook.plugin).length === 1
    const unfinished = open.findIndex(
      (one) =>
        !one.hook.hosted ||
        one.result.attempt > 1 ||
        !isAlone(one) ||
        !this.#tree.holds(one.hook.plugin) ||
        !hasFinished(logsFor(this.#tree.root, one.hook, one.result.attempt)),
    )
    const finished = unfinished === -1 ? open : open.slice(0, unfinished)
    await this.#tree.reconcilePublished()
    for (const one of finished) this.#open.set(keyOf(one.hook), one)
    await this.#settle(
      finished.map(({ hook, result }) => {
        const logs = logsFor(this.#tree.root, hook, result.attempt)
        const at = statSync(logs.stdout).mtimeMs - performance.timeOrigin
        const published = this.#tree.isPublished(hook.plugin) ? this.#tree.published(hook.plugin) : undefined
        const { processId } = this.#context.owner
        return { ...finishedRun({ hook, logs }, at, at), cause: 'exit', processId, published }
      }),
    )
    return [...finished]
  }

  async #runRow(row: readonly OpenHook[]): Promise<void> {
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
      // Writes the progress of a row that takes long.
      const goesOn = left.length > 0 && ends.at(-1)!.cause === 'exit' && !this.#context.stop.drain.aborted
      if (goesOn) await this.#started(left[0]!.result, host)
    }
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
      })),
      rowIsOver && !this.#isShared && rest.every(({ hook }) => hook.readsPublished),
    )
    for (const [index, { hook, result, end }] of ended.entries()) await this.#take(hook, result, end, verdicts[index]!)
    if (!ends.every(({ hook }) => hook.hosted)) await this.#results.write()
    await failpoint('publish.hook_settled')
  }

  async #take(hook: Hook, result: ResultRow, end: HookEnd, { records, ...judged }: Verdict): Promise<void> {
    const isLast = judged.event === 'delay' && result.retries >= this.#retries.most
    const { event, ...output } = this.#consequences.told(
      hook.plugin,
      isLast ? { ...judged, event: 'fail' as const } : judged,
    )
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
    await this.#progressed()
    this.#open.delete(keyOf(hook))
    if (event === 'delay') this.waitMs = Math.max(this.waitMs ?? 0, this.#retries.waitMs(result.retries))
    this.pages.push(...records.snapshots)
    this.tags.push(...records.tags)
    // Our own hooks print what they find.
    if (event === 'succeed' && !hook.hosted) await this.#readUrls(this.#tree.dirFor(hook.plugin))
    this.#context.log.debug(`${hook.name} on ${this.#claim.row.url} ${event}: ${output.output}`)
  }

  /** Forgets earlier failed attempts once a hook has ended. */
  async #progressed(): Promise<void> {
    if (!this.#gotSomewhere && this.#claim.attempts > 1) await forgetAttempts(this.#context.owner.home.db, this.#claim)
    this.#gotSomewhere = true
  }

  /** Reads what a hook of an earlier round found from its log and files. */
  async #recall(hook: Hook, result: ResultRow): Promise<void> {
    this.#consequences.note(hook.plugin, result.status, result.output_str)
    this.#tree.dirFor(hook.plugin) // Tells later hooks that this one ran.
    const logs = keptLogs(this.#tree.root, hook, result.attempt)
    if (!logs) return
    if (result.status === 'succeeded') keepStdoutForSiblings(this.#tree, hook.plugin, logs)
    const records = await readRecords(logs.stdout)
    this.pages.push(...records.snapshots)
    this.tags.push(...records.tags)
    await this.#readUrls(join(this.#tree.root, hook.plugin))
  }

  async #readUrls(dir: string): Promise<void> {
    const file = join(dir, 'urls.jsonl')
    if (existsSync(file)) this.pages.push(...(await readUrlsFile(file)))
  }
}
