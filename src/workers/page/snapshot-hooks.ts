import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { attemptName, HOSTED_LOG } from '../../base/attempt-paths.ts'
import { failpoint } from '../../base/failpoint.ts'
import { forgetEnds, type LoggedEnd, readRowLog } from '../../base/row-log.ts'
import { writtenSince } from '../../db/recorded-files.ts'
import type { Hook } from '../../hooks/discover.ts'
import type { HostedRun } from '../../hooks/hosted-ends.ts'
import type { ResultRow } from '../../machines/results.ts'
import { type HookEnd, logsFor } from '../sequence/hook-sequence.ts'
import type { Verdict } from '../sequence/hook-settle.ts'
import { keepStaticfileLog } from '../sequence/staticfile-log.ts'
import { earlierEnd, endedBefore } from './ended-before.ts'
import { HookEnds, type PageWork } from './hook-ends.ts'
import { inRows, isFinal, type OpenHook, pairsOf } from './hook-rows.ts'

/** The hooks of one snapshot: runs those without a final result in order, and keeps the rows of their results true. */
export class SnapshotHooks {
  readonly #work: PageWork
  /** What follows from those that have ended. */
  readonly ends: HookEnds

  constructor(work: PageWork) {
    this.#work = work
    this.ends = new HookEnds(work)
  }

  /** Hooks remain to be run: a drain came first, or one failed temporarily. */
  get unfinished(): boolean {
    return this.ends.open.all.length > 0 || this.waitMs !== undefined
  }

  /** The wait until a hook that backed off is tried again. */
  get waitMs(): number | undefined {
    return this.ends.postponed.waitMs
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
    const open = await this.#begin(hooks, results, missing)
    for (const plugin of unable.keys()) this.ends.consequences.isDown(plugin)
    const untold = new Map(unable)
    for (const { hook, result } of open) {
      const lacks = missing.get(hook.plugin)
      const failure = untold.get(hook.plugin)
      untold.delete(hook.plugin)
      if (lacks !== undefined) await this.ends.skip(result, lacks, true)
      else if (failure !== undefined) await this.#work.results.add({ result, event: 'fail', output: failure })
      else this.ends.open.add({ hook, result })
    }
    const rows = inRows(this.ends.open.all)
    rows.unshift(...(await this.#late(missing)))
    for (const [index, row] of rows.entries()) {
      const isStopped = () =>
        this.#work.context.stop.drain.aborted || this.#work.abort.aborted || this.waitMs !== undefined
      if (isStopped()) break
      // The hashes are those of all files, also of what background hooks publish at their end.
      const isLast = rows.slice(index).every((left) => left.every(({ hook }) => hook.readsPublished))
      if (isLast || row.some(({ hook }) => hook.awaitsBackground)) await this.#endBackground(!isLast)
      if (isStopped()) break
      const able = await this.#able(row.filter(({ hook }) => this.ends.open.has(hook)))
      if (able[0]) await this.#tellWritten(able[0])
      if (able[0]?.hook.hosted) await this.#runRow(able)
      else if (able[0]) {
        // The start of the next process is written together with the end of this one.
        this.ends.isFollowed = rows[index + 1]?.[0]?.hook.hosted === false
        await this.#runOne(able[0])
        this.ends.isFollowed = false
      }
      for (const end of await this.#work.sequence.reap()) await this.ends.settle([end])
      rows.splice(index + 1, 0, ...(await this.#late(missing)))
      if (await this.ends.lostService()) break
    }
    await this.#endBackground()
    for (const { result } of this.ends.open.all) await this.ends.interrupt(result) // It had not begun.
  }

  /** The rows of hooks that apply since there is a file. */
  async #late(missing: ReadonlyMap<string, string>): Promise<OpenHook[][]> {
    const rows = await this.ends.late.add()
    for (const one of rows.flat()) {
      const lacks = missing.get(one.hook.plugin)
      if (lacks === undefined) this.ends.open.add(one)
      else await this.ends.skip(one.result, lacks)
    }
    return rows.map((row) => row.filter(({ hook }) => !missing.has(hook.plugin)))
  }

  /** @param isDone they have done their part, whatever hooks are left */
  async #endBackground(isDone = false): Promise<void> {
    if (!this.#work.sequence.hasBackground) return
    await this.#work.results.write() // The end of what runs in the background may take long.
    const isLeft = ({ hook }: OpenHook) => !hook.readsPublished && !this.#work.sequence.isRunning(hook)
    const early = !isDone && this.ends.open.all.some(isLeft)
    for await (const end of this.#work.sequence.endBackground(this.#work.abort, early)) await this.ends.settle([end])
  }

  /** Fails the open hooks without running them: their worker died at them too often. */
  async giveUp(hooks: readonly Hook[], results: readonly ResultRow[], reason: string): Promise<void> {
    for (const { result } of await this.#begin(hooks, results)) {
      await this.#work.results.add({ result, event: 'fail', output: reason })
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
    if (isForNow && first && this.ends.postponed.hasLeft(first)) {
      await this.#work.results.add({ result: first, event: 'delay', output: reason })
      this.ends.postponed.add(first, undefined)
      return
    }
    for (const { result } of open)
      await this.#work.results.add({
        result,
        ...this.ends.consequences.told(result.plugin, { event: 'fail', output: reason }),
      })
  }

  /** The hooks of a row that can run; one that needs failed output is skipped. */
  async #able(row: readonly OpenHook[]): Promise<OpenHook[]> {
    const able: OpenHook[] = []
    for (const one of row) {
      const lacks = this.ends.consequences.lacking(one.hook)
      if (lacks === undefined) able.push(one)
      else {
        await this.ends.skip(one.result, lacks)
        this.ends.open.delete(one.hook)
      }
    }
    return able
  }

  /**
   * Takes over from earlier rounds: their findings, and hooks that ended before their worker died.
   * @returns the hooks still to be run
   */
  async #begin(
    hooks: readonly Hook[],
    results: readonly ResultRow[],
    missing: ReadonlyMap<string, string> = new Map(),
  ): Promise<OpenHook[]> {
    const all = pairsOf(hooks, results)
    this.ends.late.note(hooks, all)
    const { tree } = this.#work
    const log = readRowLog(join(tree.root, HOSTED_LOG))
    const adopted = tree.hasLeftovers ? await this.#adopt(all, results, log, missing) : []
    const open = all.filter((one) => !isFinal(one.result) && !adopted.some(({ end }) => end.hook === one.hook))
    this.#forget(open, log)
    await tree.open(this.#work.repeated.files)
    for (const { end, verdict } of adopted) {
      tree.dirFor(end.hook.plugin)
      if (verdict.event === 'succeed') keepStaticfileLog(tree, end.hook.plugin, end, verdict.output)
    }
    for (const one of all) if (isFinal(one.result)) await this.ends.recall(one, all, log)
    return open
  }

  /** Takes over the hosted hooks that ended although their worker died before it wrote that down. */
  async #adopt(
    all: readonly OpenHook[],
    results: readonly ResultRow[],
    log: ReadonlyMap<string, LoggedEnd>,
    missing: ReadonlyMap<string, string>,
  ): Promise<{ readonly end: HookEnd; readonly verdict: Verdict }[]> {
    const { tree, repeated, context } = this.#work
    const finished = endedBefore(all, results, log, repeated.results, missing)
    await tree.reconcilePublished()
    for (const one of finished) this.ends.open.add(one)
    const ahead = finished.find(({ hook }) => hook.readsPublished)
    const earlier = finished.map((one) => earlierEnd(one, tree, log, context.owner.processId))
    const ends = await this.ends.counting(earlier, ahead)
    const verdicts = await this.ends.settle(ends, false, ahead)
    return ends.flatMap((end, index) => (this.ends.open.has(end.hook) ? [] : { end, verdict: verdicts[index]! }))
  }

  /** Lets ends of hooks that run again count no more: their files go with the work tree. */
  #forget(hooks: readonly OpenHook[], log: ReadonlyMap<string, LoggedEnd>): void {
    const names = hooks.map(({ hook, result }) => attemptName(hook.plugin, hook.name, result.attempt))
    const ended = names.filter((name) => log.has(name))
    if (ended.length > 0) forgetEnds(join(this.#work.tree.root, HOSTED_LOG), ended)
  }

  async #runRow(row: readonly OpenHook[]): Promise<void> {
    // What a lost host leaves may need what has failed in it.
    for (let left = row; left.length > 0; ) left = await this.#able(await this.#runUntilLost(left))
  }

  /**
   * The hook that runs with a row although it reads what is published: the last one of a page, when the work tree has
   * what is about to be published.
   */
  #aheadOf(row: readonly OpenHook[]): OpenHook | undefined {
    const rest = this.ends.open.all.filter((one) => !row.includes(one))
    const [last] = rest
    if (rest.length !== 1 || !last?.hook.readsPublished || !last.hook.hosted) return undefined
    const isFirst = [...row, last].every(({ result }) => result.attempt === 1)
    return isFirst && this.ends.areMoved(rest) && !this.#work.sequence.hasBackground ? last : undefined
  }

  /** @returns the hooks that are left because the host was lost: killed, or gone by itself */
  async #runUntilLost(able: readonly OpenHook[]): Promise<readonly OpenHook[]> {
    const ahead = this.#aheadOf(able)
    const row = ahead ? [...able, ahead] : able
    if (!row.every(({ hook }) => hook.readsPublished)) this.#work.tree.makePlaces()
    const runs: HostedRun[] = []
    const isMoved = this.ends.areMoved(this.ends.open.all.filter((one) => !row.includes(one)))
    for (const { hook, result } of row) {
      const outputDir = this.ends.isShared ? await this.#restore(hook) : await this.#work.tree.placeFor(hook.plugin)
      const logs = logsFor(this.#work.tree.root, hook, result.attempt)
      runs.push({ hook, attempt: result.attempt, outputDir, isMoved, isAhead: hook === ahead?.hook, logs })
    }
    let host = ''
    const begin = async (hook: Hook, processId: string) => {
      if (host !== '') this.#work.tree.makePlaces() // It has not seen who ran before.
      host = processId
      if (this.#work.results.isKnown(processId)) return
      await this.#started(row.find((one) => one.hook === hook)!.result, processId)
    }
    let left = row
    const { sequence, scope, tree, abort } = this.#work
    for await (const ends of sequence.row(scope, join(tree.root, HOSTED_LOG), runs, abort, begin)) {
      left = left.slice(ends.length)
      await this.ends.settle(await this.ends.counting(ends, ahead), left.length === 0, ahead)
      const { cause, exit } = ends.at(-1)!
      if (cause === 'timeout' || (cause === 'exit' && exit.signal)) return left.filter((one) => one !== ahead)
      // Writes the progress of a row that takes long.
      const goesOn = left.length > 0 && cause === 'exit' && !this.#work.context.stop.drain.aborted
      if (goesOn) await this.#started(left[0]!.result, host)
    }
    return []
  }

  async #runOne({ hook, result }: OpenHook): Promise<void> {
    const logs = logsFor(this.#work.tree.root, hook, result.attempt)
    const started = (processId: string) => this.#started(result, processId)
    const dir = await this.#restore(hook)
    this.ends.isShared = true
    this.#work.tree.makePlaces()
    const way = hook.background ? 'background' : 'foreground'
    const end = await this.#work.sequence[way](this.#work.scope, hook, dir, logs, this.#work.abort, started)
    if (end) await this.ends.settle([end])
  }

  /** Tells a hook that reads published files which of them are new to it, unless all are. */
  async #tellWritten({ hook: { plugin, readsPublished }, result }: OpenHook): Promise<void> {
    if (!readsPublished || result.attempt === 1) return
    await this.#work.results.write()
    const paths = await writtenSince(this.#work.context.owner.home.db, this.#work.claim.id, plugin)
    writeFileSync(join(this.#work.tree.work, `.written-since-${plugin}.json`), JSON.stringify(paths))
  }

  async #started(result: ResultRow, processId: string): Promise<void> {
    await this.#work.results.write({ result, processId })
    await failpoint('spawn.hook_recorded')
  }

  /** @returns the directory in which the hook runs */
  async #restore({ plugin }: Hook): Promise<string> {
    const isRunning = this.ends.open.all.some(
      ({ hook }) => hook.plugin === plugin && this.#work.sequence.isRunning(hook),
    )
    return isRunning ? this.#work.tree.dirFor(plugin) : await this.#work.tree.restore(plugin)
  }
}
