import { failpoint } from '../../base/failpoint.ts'
import type { Hook } from '../../hooks/discover.ts'
import { HookHost } from '../../hooks/hook-host.ts'
import type { HookJob } from '../../hooks/hook-job.ts'
import type { HostedEnd } from '../../hooks/hosted-ends.ts'
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
  readonly #host: HookHost
  readonly background: BackgroundHooks
  /** Called before each step with its time limit. */
  onStep: (withinMs: number) => void = () => {}

  constructor(context: WorkerContext, cwd: string) {
    this.#context = context
    const { owner, runnerId, containment } = context
    this.#host = new HookHost({ home: owner.home, parentId: owner.processId, runnerId, containment }, cwd)
    this.background = new BackgroundHooks(context, (withinMs) => this.onStep(withinMs))
  }

  /** Starts the warm host ahead of time. */
  warmUp(): void {
    this.#host.warmUp()
  }

  /** The process in which the next hosted hook will run. */
  async hostId(): Promise<string> {
    return await this.#host.processId()
  }

  /**
   * Runs hosted hooks as one job and yields their ends in order, several at a time. It stops early on a drain, when
   * `abort` aborts, and when the budget of a handoff is spent; hooks without an end are still to be run.
   * @param begin called before the first hook runs, and again whenever the host process changes
   */
  async *job(
    job: HookJob,
    abort: AbortSignal,
    begin: (hook: Hook, processId: string) => Promise<void>,
  ): AsyncGenerator<HookEnd[], void> {
    let left = job.runs
    let processId = ''
    const started = async (id: string) => {
      processId = id
      await begin(left[0]!.hook, id)
      this.onStep(left.reduce((ms, { hook }) => ms + hook.timeoutMs, 0))
    }
    const cut = cutOff(this.#context.stop, abort)
    const around = { signal: cut.signal, enough: this.#context.stop.drain, started }
    try {
      for await (const ends of this.#host.run(job, around)) {
        await failpoint('publish.hosted_hook_ended')
        const last = left[ends.length - 1]!
        left = left.slice(ends.length)
        const hasRunOut = isOutOfMemory(ends.at(-1)!)
        const settled = hasRunOut ? ends.slice(0, -1) : ends
        if (settled.length > 0) yield settled.map((end) => hostedEnd(end, processId))
        if (!hasRunOut) continue
        // Alone, without the limit.
        const { hook, outputDir, logs } = last
        yield [await this.foreground(job.scope, hook, outputDir, logs, abort, (id) => begin(hook, id))]
      }
    } finally {
      cut.done()
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
      const ended = await endForeground(running, abort).catch((error: unknown) => {
        this.background.keep(running) // Its page must not be given back while it lives.
        throw error
      })
      return endOf(running, ended, cause)
    } finally {
      cut.done()
    }
  }

  /** After a failure: ends what still runs on the target. Throws what keeps it from that. */
  async endLeft(): Promise<void> {
    await Array.fromAsync(this.background.end(AbortSignal.abort()))
    await this.#host.endLeft()
  }

  /** Ends the warm host. */
  async close(): Promise<void> {
    await this.#host.close(this.#context.stop.force)
  }
}

const isOutOfMemory = ({ cause, exit }: HostedEnd) => cause === 'exit' && exit.signal === 'SIGABRT'
