import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { sleep } from '../base/abort.ts'
import { backoff } from '../base/backoff.ts'
import type { Log } from '../base/log.ts'
import type { Home } from '../db/home.ts'
import { healthyOrchestrator, ownerOf } from '../runner/ownership.ts'

/** How a runner is started below a server. @param standby it waits until no other runner is left */
export type StartRunner = (standby: boolean) => ChildProcess

/** A runner that ran for this long did not fail at its start. */
const WELL_MS = 60_000
const PAUSES = { baseMs: 1_000, maxMs: 30_000 } as const

/**
 * The runner below a server. It takes over from that of an older server, and waits behind any other; it is restarted
 * when it ends, until the server stops.
 */
export class Stack {
  readonly #home: Home
  readonly #start: StartRunner
  readonly #log: Log
  #child: ChildProcess | undefined

  constructor(home: Home, start: StartRunner, log: Log) {
    this.#home = home
    this.#start = start
    this.#log = log
  }

  /** Keeps a runner alive until `stop`, and then waits until it is gone. */
  async run(stop: AbortSignal): Promise<void> {
    for (let tries = 1; !stop.aborted; tries += 1) {
      const begun = performance.now()
      const child = this.#start(await this.#waits())
      this.#child = child
      if (stop.aborted) child.kill('SIGTERM')
      const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
      this.#child = undefined
      if (stop.aborted) return
      if (performance.now() - begun > WELL_MS) tries = 1
      const ms = backoff(tries, PAUSES)
      const how = signal ?? `exit code ${code}`
      this.#log.warn(`the runner ended (${how}): restarting it in ${ms / 1_000} s; logs/runner.log tells why`)
      await sleep(ms, stop)
    }
  }

  /** Passes on a signal: the first one drains, the second kills hooks. */
  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  /** Whether somebody else leads: a user's `run`, another machine's runner. The database may be away. */
  async #waits(): Promise<boolean> {
    try {
      const leader = await healthyOrchestrator(this.#home)
      return leader !== undefined && (await ownerOf(this.#home, leader.id))?.process_type !== 'server'
    } catch {
      return true
    }
  }
}
