import { hostname } from 'node:os'
import { join } from 'node:path'
import { left } from '../base/disk-space.ts'
import type { Log } from '../base/log.ts'
import { VERSION } from '../base/version.ts'
import type { Home } from '../db/home.ts'
import { newestSchema } from '../db/migrate.ts'
import { type AboutNode, forgottenAs, loseSilentNodes, type NodeState, reportNode } from '../db/nodes.ts'

/** A fraction of NODE_LOST_SECONDS, or of what that should be: longer than a lease. */
const EVERY_MS = 15_000

/** Reports our node to the others while we lead, and marks those lost that no longer do. */
export class NodeReport {
  readonly #home: Home
  readonly #lostSeconds: number
  readonly #log: Log
  #nextAt = Number.NEGATIVE_INFINITY
  #drains = false

  constructor(home: Home, lostSeconds: number, log: Log) {
    this.#home = home
    this.#lostSeconds = lostSeconds
    this.#log = log
  }

  /** Why we begin nothing: somebody drains our node. Undefined: nobody does. */
  get drains(): string | undefined {
    return this.#drains ? 'this node drains: archivebox-ts node drain --undo makes it work again' : undefined
  }

  /**
   * The first report of a leader, before it works on anything: also what its node works with, and whether that was
   * forgotten meanwhile.
   */
  async begin(about: AboutNode): Promise<void> {
    this.#takes(await report(this.#home, about))
    const was = await forgottenAs(this.#home)
    if (was !== undefined)
      this.#log.warn(
        `this data dir was node ${was}, and was forgotten: it is a new node now, and the pages that it had are no ` +
          'longer its own; archivebox-ts verify names their files',
        { event: 'node.forgotten', node: was },
      )
  }

  async whenDue(): Promise<void> {
    if (performance.now() < this.#nextAt) return
    this.#nextAt = performance.now() + EVERY_MS
    this.#takes(await report(this.#home))
    for (const name of await loseSilentNodes(this.#home, this.#lostSeconds))
      this.#log.warn(`node ${name} has not reported for ${this.#lostSeconds} s: its open pages are anybody's now`, {
        ...{ event: 'node.lost', node: name },
      })
  }

  /** There is news: perhaps somebody drains our node. */
  soon(): void {
    this.#nextAt = Number.NEGATIVE_INFINITY
  }

  #takes(state: NodeState): void {
    const drains = state === 'draining'
    if (drains === this.#drains) return
    this.#drains = drains
    if (drains)
      this.#log.info('this node drains: no page or crawl is begun, and those in work are finished', {
        ...{ event: 'node.drains' },
      })
    else this.#log.info('this node works again', { event: 'node.works' })
  }
}

/** Reports our node now. @returns its state */
export async function report(home: Home, about?: AboutNode): Promise<NodeState> {
  const { bytes } = left(join(home.dataDir, 'archive'))
  const freeBytes = Number.isFinite(bytes) ? bytes : null
  return await reportNode(home, { hostname: hostname(), version: VERSION, schema: newestSchema(), freeBytes, about })
}
