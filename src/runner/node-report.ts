import { hostname } from 'node:os'
import { join } from 'node:path'
import { left } from '../base/disk-space.ts'
import type { Log } from '../base/log.ts'
import { VERSION } from '../base/version.ts'
import type { Home } from '../db/home.ts'
import { newestSchema } from '../db/migrate.ts'
import { inheritNode, loseSilentNodes, reportNode } from '../db/nodes.ts'

/** A fraction of NODE_LOST_SECONDS, or of what that should be: longer than a lease. */
const EVERY_MS = 15_000

/** Reports our node to the others while we lead, and marks those lost that no longer do. */
export class NodeReport {
  readonly #home: Home
  readonly #lostSeconds: number
  readonly #log: Log
  #nextAt = Number.NEGATIVE_INFINITY

  constructor(home: Home, lostSeconds: number, log: Log) {
    this.#home = home
    this.#lostSeconds = lostSeconds
    this.#log = log
  }

  async whenDue(): Promise<void> {
    if (performance.now() < this.#nextAt) return
    await report(this.#home)
    for (const name of await loseSilentNodes(this.#home, this.#lostSeconds))
      this.#log.warn(`node ${name} has not reported for ${this.#lostSeconds} s: its open pages are anybody's now`, {
        ...{ event: 'node.lost', node: name },
      })
    this.#nextAt = performance.now() + EVERY_MS
  }
}

/** Reports our node, as a leader must before it works on anything: also of a copy whose first process was killed. */
export async function beginReports(home: Home): Promise<void> {
  await inheritNode(home)
  await report(home)
}

async function report(home: Home): Promise<void> {
  const { bytes } = left(join(home.dataDir, 'archive'))
  const freeBytes = Number.isFinite(bytes) ? bytes : null
  await reportNode(home, { hostname: hostname(), version: VERSION, schema: newestSchema(), freeBytes })
}
