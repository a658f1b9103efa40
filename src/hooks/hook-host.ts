import { join } from 'node:path'
import type { ProcessScope } from './announced.ts'
import type { HookJob } from './hook-job.ts'
import type { HostedEnd } from './hosted-ends.ts'
import { WarmProcess } from './warm-process.ts'

/** What a job listens to, and reports. */
interface Around {
  /** Kills the running hook. */
  readonly signal: AbortSignal
  /** Lets the running hook end, and starts no further one. */
  readonly enough: AbortSignal
  /** Called before the first hook acts, and again before the first one in another process. */
  readonly started: (processId: string) => Promise<void>
}

/**
 * Runs our own hooks, one job after another, in one warm process, which is started when first needed, and replaced when
 * a hook in it had to be killed, or when it has grown.
 */
export class HookHost {
  readonly #scope: ProcessScope
  readonly #cwd: string
  #process: Promise<WarmProcess> | undefined

  constructor(scope: ProcessScope, cwd: string) {
    this.#scope = scope
    this.#cwd = cwd
  }

  /** Starts the process ahead of time. */
  warmUp(): void {
    this.#process ??= this.#start()
    this.#process.catch(() => {}) // The first job gets the error.
  }

  /** The process in which the next job will begin. */
  async processId(): Promise<string> {
    return (await this.#usable()).id
  }

  /**
   * Runs hooks one after another and yields their ends in order, several at a time. A hook that was killed, or ended
   * the process, is the last one of its portion; those after it run in another process. Hooks without an end are yet to
   * be run.
   */
  async *run(job: HookJob, { signal, enough, started }: Around): AsyncGenerator<HostedEnd[], void> {
    for (let left = job.runs; left.length > 0 && !enough.aborted && !signal.aborted; ) {
      const process = await this.#usable()
      await started(process.id)
      for await (const ends of process.run({ ...job, runs: left }, signal, enough)) {
        left = left.slice(ends.length)
        yield ends
      }
    }
  }

  /** Ends the process. @param force once aborted, does not wait for it to exit by itself */
  async close(force: AbortSignal): Promise<void> {
    const process = await this.#process?.catch(() => undefined)
    if (force.aborted) await process?.kill()
    else await process?.stop()
  }

  /** Ends the process if it lives although it had to be killed. Throws CannotEnd. */
  async endLeft(): Promise<void> {
    const process = await this.#process?.catch(() => undefined)
    if (process?.isLeft) await process.kill()
  }

  async #usable(): Promise<WarmProcess> {
    const process = await this.#process?.catch(() => undefined)
    if (process?.usable) return process
    await process?.stop()
    this.#process = this.#start()
    return await this.#process
  }

  #start(): Promise<WarmProcess> {
    return WarmProcess.start(this.#scope, this.#cwd, join(this.#cwd, 'logs', 'hook-host.log'))
  }
}
