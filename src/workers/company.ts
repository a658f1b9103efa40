import { sleep } from '../base/abort.ts'
import type { Stop } from '../base/stop.ts'
import type { Context } from '../engine/handlers.ts'

const LOOK_MS = 250

/**
 * The pages that the lanes of one worker have at work. A page may end its worker, and the attempt counts against all
 * that are lost with it: one that has lost an attempt already has the process to itself.
 */
export class Company {
  readonly #pages = new Set<string>()
  #alone: string | undefined

  /** May a further page be claimed? Not beside one that is alone, or will be in a moment. */
  get isOpen(): boolean {
    return this.#alone === undefined
  }

  /**
   * Enters a claimed page, and waits until those beside it are done, when it is to be alone.
   * @returns false: it may not begin now, and its claim is to be released
   */
  async enter(
    id: string,
    isToBeAlone: boolean,
    { drain }: Stop,
    tick: Pick<Context, 'signal' | 'progress'>,
  ): Promise<boolean> {
    // A lane may not have noticed yet that this very page was taken away from it.
    if (this.#alone !== undefined || this.#pages.has(id)) return false
    this.#pages.add(id)
    if (!isToBeAlone) return true
    this.#alone = id
    while (this.#pages.size > 1 && !drain.aborted && !tick.signal.aborted) {
      tick.progress()
      await sleep(LOOK_MS, tick.signal)
    }
    if (this.#pages.size === 1) return true
    this.leave(id)
    return false
  }

  leave(id: string): void {
    this.#pages.delete(id)
    if (this.#alone === id) this.#alone = undefined
  }
}
