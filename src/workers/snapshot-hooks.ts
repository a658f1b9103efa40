import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { failpoint } from '../base/failpoint.ts'
import type { Hook } from '../hooks/discover.ts'
import type { HookScope } from '../hooks/launch.ts'
import { readRecords, readUrlsFile, type SnapshotRecord } from '../hooks/records.ts'
import type { WorkTree } from '../hooks/work-tree.ts'
import { type HookRetries, hookRetries } from '../machines/hook-retries.ts'
import { forgetAttempts, type SnapshotClaim } from '../machines/queues.ts'
import { moveResult, type ResultRow } from '../machines/results.ts'
import { queueBinaries } from './binaries.ts'
import { Consequences } from './consequences.ts'
import { type HookEnd, type HookSequence, hasLog, logsFor } from './hook-sequence.ts'
import { settleHook } from './hook-settle.ts'
import type { WorkerContext } from './worker-context.ts'

const FINAL = new Set<string>(['succeeded', 'failed', 'skipped', 'noresults'])

/** Two plugins may name their hooks alike. */
const keyOf = (hook: Hook) => `${hook.plugin}/${hook.name}`

/** The hooks of one snapshot: runs what has no final result yet, in order, and keeps each result's row true to what happened. */
export class SnapshotHooks {
  /** Pages and tags that the hooks found, those of earlier rounds included. */
  readonly pages: SnapshotRecord[] = []
  readonly tags: string[] = []
  /** How long the page is to wait for the next attempt of a hook, when one backed off. What comes after it may need its output, and waits, too. */
  waitMs: number | undefined
  readonly #context: WorkerContext
  readonly #sequence: HookSequence
  readonly #claim: SnapshotClaim
  readonly #tree: WorkTree
  readonly #scope: HookScope
  readonly #abort: AbortSignal
  readonly #retries: HookRetries
  /** Hooks whose result is not final, with its row. */
  readonly #open = new Map<string, { readonly hook: Hook; readonly result: ResultRow }>()
  readonly #consequences = new Consequences()
  #interrupted = false
  #gotSomewhere = false

  constructor(
    context: WorkerContext,
    sequence: HookSequence,
    claim: SnapshotClaim,
    tree: WorkTree,
    scope: HookScope,
    abort: AbortSignal,
  ) {
    this.#context = context
    this.#sequence = sequence
    this.#claim = claim
    this.#tree = tree
    this.#scope = scope
    this.#abort = abort
    this.#retries = hookRetries(scope.settings)
  }

  /** Some hook is still to be run: a drain came first, or one failed in a way that may pass. */
  get unfinished(): boolean {
    return this.#open.size > 0 || this.waitMs !== undefined
  }

  /** A hook was cut off, and none came to its end in this attempt. */
  get cameToNothing(): boolean {
    return this.#interrupted && !this.#gotSomewhere
  }

  /** @param missing plugins that cannot work, and why: their hooks are skipped */
  async run(
    hooks: readonly Hook[],
    results: readonly ResultRow[],
    missing: ReadonlyMap<string, string>,
  ): Promise<void> {
    for (const hook of hooks) {
      const result = results.find((row) => row.plugin === hook.plugin && row.hook_name === hook.name)!
      const lacks = missing.get(hook.plugin)
      if (FINAL.has(result.status)) await this.#recall(hook, result)
      else if (lacks === undefined) this.#open.set(keyOf(hook), { hook, result })
      else await this.#skip(result, lacks)
    }
    for (const { hook, result } of [...this.#open.values()]) {
      if (this.#context.stop.drain.aborted || this.#abort.aborted || this.waitMs !== undefined) break
      const lacks = this.#consequences.lacking(hook)
      if (lacks === undefined) await this.#runOne(hook, result)
      else {
        await this.#skip(result, lacks)
        this.#open.delete(keyOf(hook))
      }
      for (const end of await this.#sequence.reap()) await this.#settle(end)
    }
    const early = [...this.#open.values()].some(({ hook }) => !this.#sequence.isRunning(hook))
    for (const end of await this.#sequence.endBackground(this.#abort, early)) await this.#settle(end)
  }

  /** Ends what is open without running it: its worker died at it too often. */
  async giveUp(hooks: readonly Hook[], results: readonly ResultRow[], reason: string): Promise<void> {
    for (const hook of hooks) {
      const result = results.find((row) => row.plugin === hook.plugin && row.hook_name === hook.name)!
      if (FINAL.has(result.status)) await this.#recall(hook, result)
      else {
        await moveResult(this.#context.owner, this.#claim, result.id, 'queued', 'fail', { output: reason })
        await failpoint('publish.hook_given_up')
      }
    }
  }

  async #skip({ id, plugin }: ResultRow, output: string): Promise<void> {
    await moveResult(this.#context.owner, this.#claim, id, 'queued', 'skip', { output })
    this.#consequences.note(plugin, 'skipped', output)
    await failpoint('publish.hook_skipped')
  }

  async #runOne(hook: Hook, result: ResultRow): Promise<void> {
    const logs = logsFor(this.#tree.root, hook, result.attempt)
    const started = async (processId: string) => {
      await moveResult(this.#context.owner, this.#claim, result.id, 'queued', 'start', { processId })
      await failpoint('spawn.hook_recorded')
    }
    if (
      ![...this.#open.values()].some(
        (other) => other.hook.plugin === hook.plugin && this.#sequence.isRunning(other.hook),
      )
    )
      await this.#tree.restore(hook.plugin)
    const way = hook.background ? 'background' : 'foreground'
    const end = await this.#sequence[way](this.#scope, hook, this.#tree.dirFor(hook.plugin), logs, this.#abort, started)
    if (end) await this.#settle(end)
  }

  async #settle(end: HookEnd): Promise<void> {
    const { hook, result } = this.#open.get(keyOf(end.hook))!
    const others = [...this.#open.values()].some((other) => other.hook !== hook && other.hook.plugin === hook.plugin)
    const { records, ...judged } = await settleHook(this.#tree, hook, result.attempt, end, end.logs, !others)
    const isLast = judged.event === 'delay' && result.retries >= this.#retries.most
    const { event, ...output } = this.#consequences.told(
      hook.plugin,
      isLast ? { ...judged, event: 'fail' as const } : judged,
    )
    // Before the result is final: nobody would come back to ask if we died in between.
    if (event !== 'interrupt') await queueBinaries(this.#context, records.binaries)
    await failpoint('publish.hook_settling')
    await moveResult(this.#context.owner, this.#claim, result.id, 'started', event, {
      ...output,
      processId: end.processId,
    })
    await failpoint('publish.hook_settled')
    this.#interrupted ||= event === 'interrupt'
    if (event === 'interrupt') return
    await this.#progressed()
    this.#open.delete(keyOf(hook))
    if (event === 'delay') this.waitMs = Math.max(this.waitMs ?? 0, this.#retries.waitMs(result.retries))
    this.pages.push(...records.snapshots)
    this.tags.push(...records.tags)
    if (event === 'succeed') await this.#readUrls(this.#tree.dirFor(hook.plugin))
    this.#context.log.debug(`${hook.name} ${event}: ${output.output}`)
  }

  /** A hook came to its end: earlier attempts that came to none are no sign any more. */
  async #progressed(): Promise<void> {
    if (!this.#gotSomewhere && this.#claim.attempts > 1) await forgetAttempts(this.#context.owner.home.db, this.#claim)
    this.#gotSomewhere = true
  }

  /** What a hook of an earlier round found: its log and files tell. */
  async #recall(hook: Hook, result: ResultRow): Promise<void> {
    this.#consequences.note(hook.plugin, result.status, result.output_str)
    this.#tree.dirFor(hook.plugin) // Later hooks see by it that this one was run.
    const logs = logsFor(this.#tree.root, hook, result.attempt)
    if (!hasLog(logs)) return
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
