import type { HookRetries } from '../../machines/archive-result.ts'
import { type Busy, busyIn, isBusyCause } from '../../machines/busy.ts'
import { causeOf, neededBy } from '../../machines/cause.ts'
import type { ResultRow } from '../../machines/results.ts'

/** What of one page is tried again later, and when. */
export class Postponed {
  /** The wait until then; undefined: nothing is. */
  waitMs: number | undefined
  readonly #retries: HookRetries
  readonly #plugins = new Set<string>()
  /** The server was too busy in the last attempt, too: no other hook tries that often again. */
  #wasBusy = false

  constructor(retries: HookRetries) {
    this.#retries = retries
  }

  /** May this result be tried once more? */
  hasLeft({ retries }: ResultRow): boolean {
    return retries < this.#retries.most
  }

  /** The same, when the server was too busy for it. */
  mayWaitForServer(result: ResultRow): boolean {
    return this.hasLeft(result) && !this.#wasBusy
  }

  /**
   * Does this output of a hook say that what it needs is missing, which is tried again later? Then the hook comes
   * again, too, and what needs it waits in its turn.
   */
  waitsToo({ plugin }: Pick<ResultRow, 'plugin'>, output: string): boolean {
    const needed = neededBy(output)
    const isMissing = needed !== undefined && this.#plugins.has(needed)
    if (isMissing) this.#plugins.add(plugin)
    return isMissing
  }

  /** A hook is tried again later. @returns how long its host is to be left alone, if that was too busy for it */
  add({ plugin, retries }: ResultRow, json: unknown): number | undefined {
    const busy: Busy | undefined = busyIn(json)
    const ms = Math.max(this.#retries.waitMs(retries), busy?.waitMs ?? 0)
    this.#plugins.add(plugin)
    this.waitMs = Math.max(this.waitMs ?? 0, ms)
    return busy && ms
  }

  /** A hook has ended for good. */
  hasEnded(json: unknown): void {
    this.#wasBusy ||= busyIn(json) !== undefined
  }

  /** A hook had ended for good in an earlier round. */
  recall({ plugin, status, output_str: output }: ResultRow): void {
    this.#wasBusy ||= status === 'failed' && isBusyCause(causeOf(plugin, output))
  }
}
