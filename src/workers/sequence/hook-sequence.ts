import { join } from 'node:path'
import { failpoint } from '../../base/failpoint.ts'
import type { Hook } from '../../hooks/discover.ts'
import { HookHost } from '../../hooks/hook-host.ts'
import type { HostedEnd, HostedRun } from '../../hooks/hosted-ends.ts'
import { type HookLogs, type HookScope, launchHook } from '../../hooks/launch.ts'
import { endForeground, exitWithin } from '../../hooks/terminate.ts'
import { killLeftovers } from '../../processes/family.ts'
import type { WorkerContext } from '../supervise/worker-context.ts'
import { BackgroundHooks } from './background-hooks.ts'
import { cutOff } from './cut-off.ts'
import { endOf, type HookEnd, hostedEnd } from './hook-end.ts'

/**
 * Runs the hooks of one target in order. A foreground hook runs to its end; a background hook continues beside the next
 * ones once it has printed its first line. One sequence serves one worker: the warm host stays for the next target.
 */
export class HookSequence {
  readonly #context: WorkerContext
  readonly #cwd: string
  readonly background: BackgroundHooks
  #host: Promise<HookHost> | undefined
  /** Called before each step with its time limit. */
  onStep: (withinMs: number) => void = () => {}

  constructor(context: WorkerContext, cwd: string) {
    this.#context = context
    this.#cwd = cwd
    this.background = new BackgroundHooks(context, (withinMs) => this.onStep(withinMs))
  }

  /** Starts the warm host ahead of time. */
  warmUp(): void {
    this.#host ??= this.#startHost()
    this.#host.catch(() => {}) // The first user of the host sees the failure.
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
      const cut = cutOff(this.#context.stop, abort)
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
   * Runs a hook in its own process: a foreground hook to its end, a background hook until it is ready.
   * @returns its end; undefined while it runs in the background
   */
  async run(...[scope, hook, ...around]: Parameters<HookSequence['foreground']>): Promise<HookEnd | undefined> {
    if (hook.background) return await this.background.start(scope, hook, ...around)
    return await this.foreground(scope, hook, ...around)
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
    const cut = cutOff(this.#context.stop, abort)
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

  /** Ends the warm host. */
  async close(): Promise<void> {
    const host = await this.#host?.catch(() => undefined)
    if (this.#context.stop.force.aborted) await host?.kill()
    else await host?.stop()
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
}

const isOutOfMemory = ({ cause, exit }: HostedEnd) => cause === 'exit' && exit.signal === 'SIGABRT'
