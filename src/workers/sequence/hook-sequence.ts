import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { sleep } from '../../base/abort.ts'
import { earlierLogPaths, type LogPaths, logPaths } from '../../base/attempt-paths.ts'
import { failpoint } from '../../base/failpoint.ts'
import type { PublishedFiles } from '../../db/tables.ts'
import type { Hook } from '../../hooks/discover.ts'
import { HookHost } from '../../hooks/hook-host.ts'
import type { HostedEnd, HostedRun } from '../../hooks/hosted-ends.ts'
import { type Exit, type HookLogs, type HookScope, launchHook, type RunningHook } from '../../hooks/launch.ts'
import { endForeground, exitWithin, terminateHooks } from '../../hooks/terminate.ts'
import { killLeftovers } from '../../processes/family.ts'
import type { WorkerContext } from '../supervise/worker-context.ts'
import type { EndCause, Ending } from './hook-settle.ts'

/** The end of one hook, ready to be settled. */
export interface HookEnd extends Ending {
  readonly hook: Hook
  readonly processId: string
  /** By `performance.now()`; undefined when the hook has only just begun. */
  readonly began?: number
  readonly ended?: number
  /** Its files are published already. */
  readonly published?: PublishedFiles | undefined
  /** Resolves when its process's row has the end; undefined when it has. */
  readonly recorded?: Promise<void>
}

const READY_POLL_MS = 10

/**
 * Runs the hooks of one target in order. A foreground hook runs to its end; a background hook continues beside the next
 * ones once it has printed its first line. One sequence serves one worker: the warm host stays for the next target.
 */
export class HookSequence {
  readonly #context: WorkerContext
  readonly #cwd: string
  readonly #background: RunningHook[] = []
  /** Of background hooks: each look at `exited` would leave something behind for as long as the hook lives. */
  readonly #exits = new WeakMap<RunningHook, Exit>()
  #host: Promise<HookHost> | undefined
  /** Called before each step with its time limit. */
  onStep: (withinMs: number) => void = () => {}

  constructor(context: WorkerContext, cwd: string) {
    this.#context = context
    this.#cwd = cwd
  }

  /** Starts the warm host ahead of time. */
  warmUp(): void {
    this.#host ??= this.#startHost()
    this.#host.catch(() => {}) // The first user of the host sees the failure.
  }

  get hasBackground(): boolean {
    return this.#background.length > 0
  }

  /** Is a background hook of the same plugin running that began before this one? */
  runsBefore({ plugin, name }: Hook): boolean {
    return this.#background.some(({ hook }) => hook.plugin === plugin && hook.name < name)
  }

  /** The process in which the next hosted hook will run. */
  async hostId(): Promise<string> {
    return (await this.#usableHost()).processId
  }

  /**
   * Runs hosted hooks as one job and yields their ends in order, several at a time. It stops early on a drain, when
   * `abort` aborts, and when the budget of a handoff is spent; hooks without an end are still to be run.
   * @param log the file for what they print
   * @param begin called before the first hook runs, and again whenever the host process changes
   */
  async *job(
    scope: HookScope,
    log: string,
    runs: readonly HostedRun[],
    abort: AbortSignal,
    begin: (hook: Hook, processId: string) => Promise<void>,
  ): AsyncGenerator<HookEnd[], void> {
    const { drain } = this.#context.stop
    for (let left = runs; left.length > 0 && !drain.aborted && !abort.aborted; ) {
      const host = await this.#usableHost()
      const { processId } = host
      await begin(left[0]!.hook, processId)
      this.onStep(left.reduce((ms, { hook }) => ms + hook.timeoutMs, 0))
      const cut = this.#cutOff(abort)
      let last: HostedEnd | undefined
      try {
        for await (const ends of host.run(scope, log, left, cut.signal, drain)) {
          await failpoint('publish.hosted_hook_ended')
          last = ends.at(-1)!
          left = left.slice(ends.length)
          const settled = isOutOfMemory(last) ? ends.slice(0, -1) : ends
          if (settled.length > 0) yield settled.map((end) => hostedEnd(end, processId))
        }
      } finally {
        cut.done()
      }
      // A hook that ran out of memory runs again alone, without the limit.
      const alone = last && isOutOfMemory(last) ? runs.find(({ hook }) => hook === last.hook) : undefined
      if (alone)
        yield [
          await this.foreground(scope, alone.hook, alone.outputDir, alone.logs, abort, (id) => begin(alone.hook, id)),
        ]
      if (last?.cause === 'force') return
    }
  }

  /**
   * Runs a foreground hook in its own process until it exits, reaches its timeout, `abort` aborts, or the budget of a
   * handoff is spent. Its files can be published while its end is still being `recorded`.
   */
  async foreground(
    scope: HookScope,
    hook: Hook,
    cwd: string,
    logs: HookLogs,
    abort: AbortSignal,
    started: (processId: string) => Promise<void>,
  ): Promise<HookEnd> {
    this.onStep(hook.timeoutMs)
    const cut = this.#cutOff(abort)
    try {
      const running = await launchHook(scope, hook, cwd, logs, started)
      const exit = await exitWithin(running, hook.timeoutMs, cut.signal)
      if (exit) {
        await killLeftovers(running.family) // Processes that it left behind.
        await failpoint('publish.hook_leftovers_killed')
        return endOf(running, exit, 'exit')
      }
      const cause = cut.signal.aborted ? 'interrupt' : 'timeout'
      return endOf(running, await endForeground(running, abort), cause)
    } finally {
      cut.done()
    }
  }

  /**
   * Starts a background hook and waits until it is ready: until its first byte on stdout.
   * @returns its end when it exited, or was not ready within its timeout; undefined while it runs
   */
  async background(
    scope: HookScope,
    hook: Hook,
    cwd: string,
    logs: HookLogs,
    abort: AbortSignal,
    started: (processId: string) => Promise<void>,
  ): Promise<HookEnd | undefined> {
    this.onStep(hook.timeoutMs)
    const running = await launchHook(scope, hook, cwd, logs, started)
    this.#background.push(running)
    void running.exited.then((exit) => this.#exits.set(running, exit))
    const deadline = running.startedAt + hook.timeoutMs
    const cut = this.#cutOff(abort)
    try {
      while (!cut.signal.aborted && performance.now() < deadline) {
        const exit = await exitWithin(running, READY_POLL_MS, cut.signal)
        if (exit) {
          await killLeftovers(running.family)
          await failpoint('publish.background_ended_early')
          return await this.#ended(running, exit, 'exit')
        }
        if ((statSync(logs.stdout, { throwIfNoEntry: false })?.size ?? 0) > 0) {
          void running.exited.then(() => this.#context.bell.wake())
          return undefined
        }
      }
      if (cut.signal.aborted) return undefined // endBackground() ends it.
      return await this.#ended(running, await endForeground(running, abort), 'timeout')
    } finally {
      cut.done()
    }
  }

  /**
   * The background hooks that have exited since the last call, and whose leftovers are killed.
   * @param isOver with which exit; the others stay as if they ran
   */
  async reap(isOver: (exit: Exit) => boolean = () => true): Promise<HookEnd[]> {
    if (!this.hasBackground) return []
    await sleep(0) // Exits that have come are noted.
    const over = this.#background.flatMap((running) => {
      const exit = this.#exits.get(running)
      return exit && isOver(exit) ? [{ running, exit }] : []
    })
    await Promise.all(over.map(({ running }) => killLeftovers(running.family)))
    if (over.length > 0) await failpoint('publish.background_reaped')
    return await Promise.all(over.map(({ running, exit }) => this.#ended(running, exit, 'exit')))
  }

  /**
   * Ends every background hook, in three phases. Throws CannotEnd when one survives, behind the ends of the others.
   * @param early foreground hooks that need them remain: the background hooks are not done, and run again with those
   */
  async *endBackground(abort: AbortSignal, early = false): AsyncGenerator<HookEnd, void> {
    const { stop, log } = this.#context
    this.onStep(Math.max(0, ...this.#background.map(({ hook }) => Math.max(hook.timeoutMs, hook.graceMs))))
    const cut = this.#cutOff(abort)
    const budget = { capMs: stop.capMs, over: cut.signal }
    const ends: HookEnd[] = []
    let failure: unknown
    try {
      for await (const { running, exit, killed } of terminateHooks([...this.#background], budget, log)) {
        const cutShort = killed && (abort.aborted || stop.drain.aborted)
        ends.push(await this.#ended(running, exit, early || cutShort ? 'interrupt' : 'asked'))
      }
    } catch (error) {
      failure = error
    } finally {
      cut.done()
    }
    yield* ends
    if (failure !== undefined) throw failure
  }

  /** Ends the warm host. */
  async close(): Promise<void> {
    const host = await this.#host?.catch(() => undefined)
    if (this.#context.stop.force.aborted) await host?.kill()
    else await host?.stop()
  }

  async #ended(running: RunningHook, exit: Exit, cause: EndCause): Promise<HookEnd> {
    const index = this.#background.indexOf(running)
    if (index >= 0) this.#background.splice(index, 1)
    await running.recorded
    return endOf(running, exit, cause)
  }

  async #usableHost(): Promise<HookHost> {
    const host = await this.#host?.catch(() => undefined)
    if (host?.usable) return host
    await host?.stop()
    this.#host = this.#startHost()
    return await this.#host
  }

  #startHost(): Promise<HookHost> {
    const { owner, runnerId, containment } = this.#context
    const scope = { home: owner.home, parentId: owner.processId, runnerId, containment }
    return HookHost.start(scope, this.#cwd, join(this.#cwd, 'logs', 'hook-host.log'))
  }

  /** Aborts with `abort`, or when a drain leaves a running hook no time. */
  #cutOff(abort: AbortSignal): { signal: AbortSignal; done: () => void } {
    const { stop } = this.#context
    const over = new AbortController()
    let timer: NodeJS.Timeout | undefined
    // Computed at each change: a handoff may shorten a drain that is under way.
    const unwatch = stop.watch(() => {
      clearTimeout(timer)
      if (Number.isFinite(stop.capMs)) timer = setTimeout(() => over.abort(), stop.capMs)
    })
    return {
      signal: AbortSignal.any([abort, over.signal]),
      done: () => {
        clearTimeout(timer)
        unwatch()
      },
    }
  }
}

const isOutOfMemory = ({ cause, exit }: HostedEnd) => cause === 'exit' && exit.signal === 'SIGABRT'

function hostedEnd({ cause, ...end }: HostedEnd, processId: string): HookEnd {
  return { ...end, processId, cause: cause === 'force' ? 'interrupt' : cause }
}

function endOf({ hook, logs, processId, recorded }: RunningHook, exit: Exit, cause: EndCause): HookEnd {
  return { hook, exit, cause, logs, processId, recorded }
}

/** The files for a hook's output: beside the plugins' directories, never inside one. */
export function logsFor(root: string, hook: Hook, attempt: number): HookLogs {
  return below(root, logPaths(hook.plugin, hook.name, attempt))
}

/** The log files of a hook, if they exist; also those of earlier versions. */
export function keptLogs(root: string, hook: Hook, attempt: number): HookLogs | undefined {
  const earlier = below(root, earlierLogPaths(hook.plugin, hook.name, attempt))
  return [logsFor(root, hook, attempt), earlier].find(({ stdout }) => existsSync(stdout))
}

const below = (root: string, { stdout, stderr }: LogPaths): HookLogs => ({
  stdout: join(root, stdout),
  stderr: join(root, stderr),
})
