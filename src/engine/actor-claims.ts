import { elapsed } from '../base/elapsed.ts'
import { uuidv7 } from '../base/ids.ts'
import type { ActorSettings } from './actor-options.ts'
import type { AnyClaimed } from './claimed.ts'
import type { Machine } from './machine.ts'
import type { Queue } from './queue.ts'

/** Nothing is due. */
export class QueueIsEmpty extends Error {
  override readonly name = 'QueueIsEmpty'
}

/** Rows are due, but other claimants were faster. */
export class ObjectAlreadyClaimed extends Error {
  override readonly name = 'ObjectAlreadyClaimed'
}

/** How an actor claims its rows. */
export class ActorClaims<M extends Machine, Row> {
  readonly #queue: Queue<M, Row>
  readonly #options: ActorSettings<M, Row>
  readonly #leaseSeconds: number
  readonly #owner: string
  /** Right before the last claim was requested, by `elapsed`. */
  claimedAt = 0

  constructor(queue: Queue<M, Row>, options: ActorSettings<M, Row>, leaseSeconds: number) {
    this.#queue = queue
    this.#options = options
    this.#leaseSeconds = leaseSeconds
    this.#owner = options.owner ?? queue.options.owner ?? uuidv7()
  }

  /**
   * One of the first `claimFromTopN` due rows in one statement, or, when not atomic, the first one in two. Throws
   * QueueIsEmpty or ObjectAlreadyClaimed.
   */
  async next(atomic: boolean): Promise<AnyClaimed<M, Row>> {
    if (!atomic) return await this.#inTwo()
    return this.#options.claimFromTopN === 1 ? await this.#first() : await this.#picked()
  }

  async #first(): Promise<AnyClaimed<M, Row>> {
    const claim = await this.#queue.next(this.options())
    if (!claim) throw this.#empty()
    return claim
  }

  async #picked(): Promise<AnyClaimed<M, Row>> {
    const found = await this.#queue.pick(this.#options.claimFromTopN, this.options())
    if (found === 'empty') throw this.#empty()
    if (found === 'taken') throw this.#taken()
    return found
  }

  async #inTwo(): Promise<AnyClaimed<M, Row>> {
    const [row] = await this.#queue.due(1, this.whereValues)
    if (!row) throw this.#empty()
    const id = String((row as Record<string, unknown>)[this.#queue.machine.columns.id])
    const claim = await this.#queue.claimRow(id, this.options())
    if (!claim) throw this.#taken()
    return claim
  }

  /** How to claim, under a new token, which is announced first. */
  options() {
    const token = uuidv7()
    this.#options.onClaiming?.(token)
    this.claimedAt = elapsed()
    const values = this.#options.values?.()
    return { token, owner: this.#owner, leaseSeconds: this.#leaseSeconds, ...(values ? { values } : {}) }
  }

  get whereValues(): readonly unknown[] {
    const { values = [], whereValues = 0 } = this.#queue.options
    return (this.#options.values?.() ?? values).slice(0, whereValues)
  }

  #empty = () => new QueueIsEmpty(`${this.#queue.machine.name}: nothing is due`)
  #taken = () => new ObjectAlreadyClaimed(`${this.#queue.machine.name}: somebody else was faster`)
}
