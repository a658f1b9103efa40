import { failpoint } from '../../base/failpoint.ts'
import { uuidv7 } from '../../base/ids.ts'
import { ClaimLost } from '../../engine/claimed.ts'
import { type HookToRun, prepareResults } from '../../machines/prepare-results.ts'
import { confirmSnapshot, type Owner, type SnapshotClaim } from '../../machines/queues.ts'
import { isEnd, type ResultChange, type ResultRow, writeResults } from '../../machines/results.ts'

/** How long a new page may be claimed before its rows are written, in ms. */
const UNWRITTEN_MS = 250

/** What a page is told of its row. */
interface Listener {
  /** It is `started`. */
  begun(): void
  /** It is no longer ours, while nobody waits for a write. */
  lost(why: ClaimLost): void
}

/** The rows of a new page that are not written yet. */
interface Unborn {
  readonly count: number
  /** When the page was begun, by `performance.now()`. */
  readonly begun: number
  readonly late: NodeJS.Timeout
  readonly write: () => Promise<void>
  writing?: Promise<void>
}

/**
 * Collects the results of one page, so that the ends of hooks are written with the next required write, in one
 * statement. If the worker dies first, the host's log tells most of them. Of a new page that is done at once nothing is
 * written before its end: its claim alone says who has it.
 */
export class PageResults {
  readonly #owner: Owner
  readonly #claim: SnapshotClaim
  readonly #listener: Listener
  #unwritten: ResultChange[] = []
  /** Whether unwritten changes would be lost with this worker. */
  #isUntold = false
  /** For each result, the process that runs it according to the database. */
  readonly #running = new Map<string, string>()
  #unborn: Unborn | undefined
  readonly #soon = performance.now() + UNWRITTEN_MS

  constructor(owner: Owner, claim: SnapshotClaim, listener: Listener) {
    this.#owner = owner
    this.#claim = claim
    this.#listener = listener
  }

  /**
   * Begins the page.
   * @param late hooks that get a result only when they have one that is tried again
   * @param firstIn the process that is about to run the first hook
   * @param begun when, by `performance.now()`
   * @returns the current attempts of its hooks. Throws ClaimLost
   */
  async begin(
    hooks: readonly HookToRun[],
    late: readonly HookToRun[],
    firstIn: string | undefined,
    begun = performance.now(),
  ): Promise<ResultRow[]> {
    const rows = await prepareResults(this.#owner, this.#claim, hooks, late, firstIn, begun)
    for (const { id, status } of rows) if (status === 'started') this.#running.set(id, firstIn!)
    this.#listener.begun()
    await failpoint('claim.results_prepared')
    return rows
  }

  /** Whether its rows may still be unknown for a moment: its claim is as new. */
  get mayWait(): boolean {
    return performance.now() < this.#soon
  }

  /** Whether nothing but its claim says that it was begun. */
  get areUnwritten(): boolean {
    return this.#unborn !== undefined
  }

  /** Begins a page that is new: its rows are written when one of them must be known, in a moment, or with its end. */
  beginUnwritten(hooks: readonly HookToRun[], firstIn: string): ResultRow[] {
    const rows = hooks.map(({ plugin, name }, place): ResultRow => {
      const status = place === 0 ? 'started' : 'queued'
      const none = { output_str: '', attempt: 1, retries: 0, has_files: false, end_ts: null }
      return { id: uuidv7(), plugin, hook_name: name, status, ...none }
    })
    const begun = performance.now()
    const withIds = rows.map(({ id, plugin, hook_name: name }) => ({ id, plugin, name }))
    this.#unborn = {
      ...{ count: rows.length, begun },
      late: setTimeout(() => void this.#writtenLate(), this.#soon - begun),
      write: async () => void (await this.begin(withIds, [], firstIn, begun)),
    }
    this.#running.set(rows[0]!.id, firstIn)
    return rows
  }

  /** Has the rows of a new page written, if they are not yet. */
  async #written(): Promise<void> {
    const unborn = this.#unborn
    if (!unborn) return
    clearTimeout(unborn.late)
    unborn.writing ??= unborn.write()
    await unborn.writing
    this.#unborn = undefined
  }

  async #writtenLate(): Promise<void> {
    try {
      await this.#written()
    } catch (error) {
      if (error instanceof ClaimLost) this.#listener.lost(error) // Of anything else the next write is told.
    }
  }

  /** Writes nothing more. What is being written is waited for: it decides how the page is given back. */
  async close(): Promise<void> {
    clearTimeout(this.#unborn?.late)
    await this.#unborn?.writing?.catch(() => {}) // Whoever needed it was told.
  }

  /** Whether the database knows that this process works on the page. */
  isKnown(processId: string): boolean {
    return [...this.#running.values()].includes(processId)
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
    await this.#written()
    if (start) await this.add({ ...start, event: 'start' })
    if (this.#unwritten.length === 0) return
    await this.#writeWith((changes) => writeResults(this.#owner, this.#claim, changes))
    if (start) this.#running.set(start.result.id, start.processId)
  }

  /**
   * Passes the last changes of the page to `write`, which writes them together with something else.
   * @param write is told when a new page was begun that it begins as well: they are the ends of all its hooks
   */
  async writeLastWith<T>(
    write: (changes: readonly ResultChange[], begun: number | undefined) => Promise<T>,
  ): Promise<T> {
    const unborn = this.#unborn
    const isNew = unborn && !unborn.writing && this.#unwritten.filter(isEnd).length === unborn.count
    if (isNew) clearTimeout(unborn.late)
    else await this.#written()
    const done = await this.#writeWith((changes) => write(changes, isNew ? unborn.begun : undefined))
    if (!isNew) return done
    this.#unborn = undefined
    this.#listener.begun()
    return done
  }

  async #writeWith<T>(write: (changes: readonly ResultChange[]) => Promise<T>): Promise<T> {
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
