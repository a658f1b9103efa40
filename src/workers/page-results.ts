import { failpoint } from '../base/failpoint.ts'
import { confirmSnapshot, type Owner, type SnapshotClaim } from '../machines/queues.ts'
import { type ResultChange, type ResultRow, writeResults } from '../machines/results.ts'

/**
 * The results of one page on their way to the database: what is known of the end of a hook is written with whatever
 * must be written next, in one statement. What is lost meanwhile with its worker stands in the logs of the hooks.
 */
export class PageResults {
  readonly #owner: Owner
  readonly #claim: SnapshotClaim
  #unwritten: ResultChange[] = []
  /** By result, the process in which it is said to run. */
  readonly #running = new Map<string, string>()

  constructor(owner: Owner, claim: SnapshotClaim) {
    this.#owner = owner
    this.#claim = claim
  }

  /** Is this result said to be running, in this process or any? */
  isRunning({ id }: Pick<ResultRow, 'id'>): boolean {
    return this.#running.has(id)
  }

  /** Does the database know that this process works on the page? */
  isKnown(processId: string): boolean {
    return [...this.#running.values()].includes(processId)
  }

  /** Says that the database knows of this start. */
  knows({ id }: Pick<ResultRow, 'id'>, processId: string): void {
    this.#running.set(id, processId)
  }

  /** To be written with the next thing. */
  async add(change: ResultChange): Promise<void> {
    if (this.#unwritten.some(({ result }) => result.plugin === change.result.plugin)) await this.write()
    this.#unwritten.push(change)
  }

  /** Writes what is there to be written, and this start. Throws ClaimLost. */
  async write(start?: { readonly result: ResultRow; readonly processId: string }): Promise<void> {
    if (start) await this.add({ ...start, event: 'start' })
    const changes = this.#unwritten
    if (changes.length === 0) return
    await writeResults(this.#owner, this.#claim, changes)
    await failpoint('publish.results_written')
    this.#unwritten = []
    for (const { result } of changes) this.#running.delete(result.id)
    if (start) this.#running.set(start.result.id, start.processId)
  }

  /** The fence of what no statement can guard: throws ClaimLost unless the page is ours now, in the term in force. */
  async confirm(): Promise<void> {
    if (this.#unwritten.length > 0) await this.write()
    else await confirmSnapshot(this.#owner, this.#claim)
  }
}
