import { join } from 'node:path'
import { sealedPageCount } from '../../db/counts.ts'
import { writeUnable } from '../../db/crawls.ts'
import { ClaimLost } from '../../engine/queue.ts'
import { takeBack } from '../../hooks/hand-over.ts'
import { describeExit } from '../../hooks/terminate.ts'
import type { CrawlClaim, crawlQueue } from '../../machines/queues.ts'
import type { HookSequence } from '../sequence/hook-sequence.ts'
import { hasFailed, runSetupHooks } from '../sequence/setup-hooks.ts'
import type { WorkerProcessContext } from '../supervise/worker-process.ts'

/** How often they are started again while no page comes to its end. */
const MOST_RESTARTS = 3

/** What the set-up hooks of a crawl run for its pages, such as a browser: from the crawl worker's side. */
export class Services {
  readonly #context: WorkerProcessContext
  readonly #queue: ReturnType<typeof crawlQueue>
  readonly #sequence: HookSequence
  readonly #claim: CrawlClaim<'started'>
  readonly #abort: AbortSignal
  /** As the crawl's row has them. */
  #unable: ReadonlyMap<string, string>
  /** For each plugin whose service ended by itself, how it last did. */
  readonly #ended = new Map<string, string>()
  #restarts = 0
  #sealed = 0
  #wereUp = false
  /** A hook was cut off. */
  isCutOff = false

  constructor(
    context: WorkerProcessContext,
    queue: ReturnType<typeof crawlQueue>,
    sequence: HookSequence,
    claim: CrawlClaim<'started'>,
    abort: AbortSignal,
  ) {
    this.#context = context
    this.#queue = queue
    this.#sequence = sequence
    this.#claim = claim
    this.#abort = abort
    this.#unable = new Map(Object.entries(claim.row.unable))
  }

  /** Runs the set-up hooks. */
  async start(): Promise<void> {
    const { id, row } = this.#claim
    const claimed = async () => {
      if (!(await this.#queue.renew([this.#claim])).has(id)) throw new ClaimLost(`crawl ${id} was taken away`)
    }
    const { isCutOff, unable } = await runSetupHooks(this.#context, this.#sequence, row, this.#abort, claimed)
    this.isCutOff ||= isCutOff
    if (unable) await this.#write(unable)
  }

  /** Runs the set-up hooks again once all had been ended, if anything ran. */
  async startAgain(): Promise<void> {
    if (this.#wereUp) await this.start()
  }

  /** Whether one of them has ended without being asked to, other than with success. */
  async haveEnded(): Promise<boolean> {
    if (this.#context.stop.drain.aborted) return false
    const ends = await this.#sequence.background.reap(hasFailed)
    for (const { hook, exit } of ends) {
      this.#context.log.warn(`${hook.name} of crawl ${this.#claim.id} ended with ${describeExit(exit)}`)
      this.#ended.set(hook.plugin, `${hook.name} ended with ${describeExit(exit)}`)
    }
    return ends.length > 0
  }

  /**
   * Restarts them all, once the workers of the pages are gone; after some failures, marks those that keep ending as
   * unable instead, so that the pages go on without them.
   */
  async restart(): Promise<void> {
    const sealed = await sealedPageCount(this.#context.owner.home.db, this.#claim.id)
    this.#restarts = sealed > this.#sealed ? 1 : this.#restarts + 1
    this.#sealed = sealed
    if (this.#restarts > MOST_RESTARTS) return await this.#write(new Map([...this.#unable, ...this.#ended]))
    await Array.fromAsync(this.#sequence.background.end(this.#abort))
    await this.start()
  }

  /**
   * Ends them after the last page.
   * @returns false when there was no time for that: they were killed
   */
  async end(): Promise<boolean> {
    const ended = await Array.fromAsync(this.#sequence.background.end(this.#abort))
    this.#wereUp = ended.length > 0
    this.isCutOff ||= this.#wereUp && this.#context.stop.drain.aborted
    takeBack(join(this.#context.owner.home.dataDir, this.#claim.row.output_dir))
    return ended.every(({ cause }) => cause !== 'interrupt')
  }

  async #write(unable: ReadonlyMap<string, string>): Promise<void> {
    const { home } = this.#context.owner
    const { id } = this.#claim
    if (unable.size + this.#unable.size === 0) return
    if (!(await writeUnable(home.db, this.#claim, unable))) throw new ClaimLost(`crawl ${id} was taken away`)
    this.#unable = unable
  }
}
