import { hostname } from 'node:os'
import { join } from 'node:path'
import { left } from '../base/disk-space.ts'
import type { Log } from '../base/log.ts'
import { VERSION } from '../base/version.ts'
import type { Home } from '../db/home.ts'
import { newestSchema } from '../db/migrate.ts'
import { inheritNode, loseSilentNodes, type Reported, reportNode } from '../db/nodes.ts'

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

  /** @param end drains the runner */
  constructor(home: Home, lostSeconds: number, log: Log, end: (cause: string) => void) {
    this.#home = home
    this.#lostSeconds = lostSeconds
    this.#log = log
    this.#end = end
  }

  async whenDue(): Promise<void> {
    if (performance.now() < this.#nextAt) return
    this.#mindNewer(await report(this.#home))
    for (const name of await loseSilentNodes(this.#home, this.#lostSeconds))
      this.#log.warn(`node ${name} has not reported for ${this.#lostSeconds} s: its open pages are anybody's now`, {
        ...{ event: 'node.lost', node: name },
      })
    this.#nextAt = performance.now() + EVERY_MS
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

/** Reports our node, as a leader must before it works on anything: also of a copy whose first process was killed. */
export async function beginReports(home: Home): Promise<void> {
  await inheritNode(home)
  await report(home)
}

async function report(home: Home): Promise<Reported> {
  const { bytes } = left(join(home.dataDir, 'archive'))
  const freeBytes = Number.isFinite(bytes) ? bytes : null
  return await reportNode(home, { hostname: hostname(), version: VERSION, schema: newestSchema(), freeBytes })
}
