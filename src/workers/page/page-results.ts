import { failpoint } from '../../base/failpoint.ts'
import { confirmSnapshot, type Owner, type SnapshotClaim } from '../../machines/queues.ts'
import { type ResultChange, type ResultRow, writeResults } from '../../machines/results.ts'

/**
 * Collects the results of one page, so that the ends of hooks are written with the next required write, in one
 * statement. If the worker dies first, the host's log tells most of them.
 */
export class PageResults {
  readonly #owner: Owner
  readonly #claim: SnapshotClaim
  #unwritten: ResultChange[] = []
  /** Whether unwritten changes would be lost with this worker. */
  #isUntold = false
  /** For each result, the process that runs it according to the database. */
  readonly #running = new Map<string, string>()

  constructor(owner: Owner, claim: SnapshotClaim) {
    this.#owner = owner
    this.#claim = claim
  }

  /** Whether the database knows that this process works on the page. */
  isKnown(processId: string): boolean {
    return [...this.#running.values()].includes(processId)
  }

  /** Records that the database knows of this start. */
  knows({ id }: Pick<ResultRow, 'id'>, processId: string): void {
    this.#running.set(id, processId)
  }

  /**
   * Adds a change to the next write.
   * @param isTold the next owner of the page would find it out by itself: from the hook's log, or from its settings
   */
  async add(change: ResultChange, isTold = false): Promise<void> {
    if (this.#unwritten.some(({ result }) => result.plugin === change.result.plugin)) await this.write()
    this.#unwritten.push(change)
    this.#isUntold ||= !isTold
  }

  /** Queues a result again whose hook was about to run, or was cut off. */
  async interrupt(result: ResultRow): Promise<void> {
    const isKnown = this.#unwritten.some((change) => change.result.id === result.id)
    if (this.#running.has(result.id) && !isKnown) await this.add({ result, event: 'interrupt' })
  }

  /** Writes the collected changes, and `start` if given. Throws ClaimLost. */
  async write(start?: { readonly result: ResultRow; readonly processId: string }): Promise<void> {
    if (start) await this.add({ ...start, event: 'start' })
    if (this.#unwritten.length === 0) return
    await this.writeWith((changes) => writeResults(this.#owner, this.#claim, changes))
    if (start) this.#running.set(start.result.id, start.processId)
  }

  /** Passes the collected changes to `write`, which writes them together with something else. */
  async writeWith<T>(write: (changes: readonly ResultChange[]) => Promise<T>): Promise<T> {
    const changes = this.#unwritten
    const done = await write(changes)
    if (changes.length > 0) await failpoint('publish.results_written')
    this.#unwritten = []
    this.#isUntold = false
    for (const { result } of changes) this.#running.delete(result.id)
    return done
  }

  /**
   * The fence before actions that no statement can guard, such as a rename: throws ClaimLost unless the claim and the
   * term are still valid.
   */
  async confirm(): Promise<void> {
    if (this.#isUntold) await this.write()
    else await confirmSnapshot(this.#owner, this.#claim)
  }
}
