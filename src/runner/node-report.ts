import { hostname } from 'node:os'
import { join } from 'node:path'
import { left } from '../base/disk-space.ts'
import type { Log } from '../base/log.ts'
import { VERSION } from '../base/version.ts'
import type { Home } from '../db/home.ts'
import { newestSchema } from '../db/migrate.ts'
import { type AboutNode, forgottenAs, inheritNode, loseSilentNodes, type Reported, reportNode } from '../db/nodes.ts'

/** A fraction of NODE_LOST_SECONDS, or of what that should be: longer than a lease. */
const EVERY_MS = 15_000

/** Reports our node to the others while we lead, marks those lost that no longer do, and minds newer programs. */
export class NodeReport {
  readonly #home: Home
  readonly #lostSeconds: number
  readonly #log: Log
  readonly #end: (cause: string) => void
  #isAsked = false
  #nextAt = Number.NEGATIVE_INFINITY
  #schema = newestSchema()
  #drains = false

  /** @param end drains the runner */
  constructor(home: Home, lostSeconds: number, log: Log, end: (cause: string) => void) {
    this.#home = home
    this.#lostSeconds = lostSeconds
    this.#log = log
    this.#end = end
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
    await inheritNode(this.#home) // Of a copy whose first process was killed.
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

  #takes(reported: Reported): void {
    this.#mindNewer(reported)
    const drains = reported.state === 'draining'
    if (drains === this.#drains) return
    this.#drains = drains
    if (drains)
      this.#log.info('this node drains: no page or crawl is begun, and those in work are finished', {
        ...{ event: 'node.drains' },
      })
    else this.#log.info('this node works again', { event: 'node.works' })
  }

  /** Goes on under an additive change of the schema; drains for another one, which waits for us. */
  #mindNewer({ schema, isAskedToDrain }: Reported): void {
    if (schema > this.#schema) {
      this.#schema = schema
      this.#log.warn(
        `a newer archivebox-ts has changed the database: its schema is ${schema}, this program knows ` +
          `${newestSchema()} and goes on; install the newer one here, too`,
        { event: 'schema.newer', schema },
      )
    }
    if (!isAskedToDrain || this.#isAsked) return
    this.#isAsked = true
    const cause = 'a newer archivebox-ts waits to change the database'
    this.#log.warn(`${cause}: draining`, { event: 'runner.drains', cause })
    this.#end(cause)
  }
}

/** Reports our node now. */
export async function report(home: Home, about?: AboutNode): Promise<Reported> {
  const { bytes } = left(join(home.dataDir, 'archive'))
  const freeBytes = Number.isFinite(bytes) ? bytes : null
  return await reportNode(home, { hostname: hostname(), version: VERSION, schema: newestSchema(), freeBytes, about })
}
