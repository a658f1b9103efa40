import { statSync } from 'node:fs'
import { sleep } from '../../base/abort.ts'
import { failpoint } from '../../base/failpoint.ts'
import type { Hook } from '../../hooks/discover.ts'
import { type Exit, type HookLogs, type HookScope, launchHook, type RunningHook } from '../../hooks/launch.ts'
import { endForeground, exitWithin, terminateHooks } from '../../hooks/terminate.ts'
import { killLeftovers } from '../../processes/family.ts'
import type { WorkerContext } from '../supervise/worker-context.ts'
import { cutOff } from './cut-off.ts'
import { endOf, type HookEnd } from './hook-end.ts'
import type { EndCause } from './hook-settle.ts'

const READY_POLL_MS = 10

/** The hooks of one target that run in the background, beside those that follow them. */
export class BackgroundHooks {
  readonly #context: WorkerContext
  readonly #running: RunningHook[] = []
  /** Each look at `exited` would leak memory for as long as the hook lives. */
  readonly #exits = new WeakMap<RunningHook, Exit>()
  readonly #onStep: (withinMs: number) => void

  /** @param onStep called before each step with its time limit */
  constructor(context: WorkerContext, onStep: (withinMs: number) => void) {
    this.#context = context
    this.#onStep = onStep
  }

  get areAny(): boolean {
    return this.#running.length > 0
  }

  /** Leaves a hook of the foreground that could not be ended to `end`. */
  keep(running: RunningHook): void {
    this.#running.push(running)
  }

  /** Whether an earlier hook of the same plugin is running. */
  runsBefore({ plugin, name }: Hook): boolean {
    return this.#running.some(({ hook }) => hook.plugin === plugin && hook.name < name)
  }

  /**
   * Starts a hook and waits until it is ready: until its first byte on stdout.
   * @returns its end when it exited, or was not ready within its timeout; undefined while it runs
   */
  async start(
    scope: HookScope,
    hook: Hook,
    cwd: string,
    logs: HookLogs,
    abort: AbortSignal,
    started: (processId: string) => Promise<void>,
  ): Promise<HookEnd | undefined> {
    this.#onStep(hook.timeoutMs)
    const running = await launchHook(scope, hook, cwd, logs, started)
    this.#running.push(running)
    void running.exited.then((exit) => this.#exits.set(running, exit))
    const deadline = running.startedAt + hook.timeoutMs
    const cut = cutOff(this.#context.stop, abort)
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
      if (cut.signal.aborted) return undefined // end() ends it.
      return await this.#ended(running, await endForeground(running, abort), 'timeout')
    } finally {
      cut.done()
    }
  }

  /**
   * The hooks that have exited since the last call, and whose leftovers are killed.
   * @param isOver decides by the exit; the others stay as if they ran
   */
  async reap(isOver: (exit: Exit) => boolean = () => true): Promise<HookEnd[]> {
    if (!this.areAny) return []
    await sleep(0) // Lets exits that have come be noted.
    const over = this.#running.flatMap((running) => {
      const exit = this.#exits.get(running)
      return exit && isOver(exit) ? [{ running, exit }] : []
    })
    await Promise.all(over.map(({ running }) => killLeftovers(running.family)))
    if (over.length > 0) await failpoint('publish.background_reaped')
    return await Promise.all(over.map(({ running, exit }) => this.#ended(running, exit, 'exit')))
  }

  /**
   * Ends every hook, in three phases. Throws CannotEnd when one survives, behind the ends of the others.
   * @param early foreground hooks that need them remain: they are not done, and run again with those
   */
  async *end(abort: AbortSignal, early = false): AsyncGenerator<HookEnd, void> {
    const { stop, log } = this.#context
    this.#onStep(Math.max(0, ...this.#running.map(({ hook }) => Math.max(hook.timeoutMs, hook.graceMs))))
    const cut = cutOff(this.#context.stop, abort)
    const budget = { capMs: stop.capMs, over: cut.signal }
    const ends: HookEnd[] = []
    let failure: unknown
    try {
      for await (const { running, exit, killed } of terminateHooks([...this.#running], budget, log)) {
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

  async #ended(running: RunningHook, exit: Exit, cause: EndCause): Promise<HookEnd> {
    const index = this.#running.indexOf(running)
    if (index >= 0) this.#running.splice(index, 1)
    await running.recorded
    return endOf(running, exit, cause)
  }
}
