import type { Home } from '../db/home.ts'
import { identityIn, type LiveRow } from '../db/processes.ts'
import { livenessOf } from '../processes/identity.ts'
import { presentRows } from '../processes/presence.ts'
import { signalRow, terminate } from '../processes/registry/end.ts'
import type { Olders } from './listen.ts'
import type { Holder } from './port-holders.ts'

/** How long an older server may take to exit, in ms: its requests, and its runner, which hands over to ours. */
const GRACE_MS = 20_000

/**
 * The servers of this data dir that are older than this one and hold its ports. The newest gets port and runner;
 * servers on other addresses coexist.
 */
export class OlderServers implements Olders {
  readonly #home: Home
  readonly #id: string
  readonly #found = new Map<string, LiveRow>()

  /** @param id of our row */
  constructor(home: Home, id: string) {
    this.#home = home
    this.#id = id
  }

  /** Whether only servers of ours hold it. */
  async areOurs(holders: readonly Holder[]): Promise<boolean> {
    const rows = await presentRows(this.#home)
    const us = rows.find(({ id }) => id === this.#id)
    const others = holders.filter(({ pid }) => pid !== process.pid)
    const found = others.map(({ pid }) =>
      rows.find((row) => row.process_type === 'server' && row.pid === pid && us !== undefined && row.seq < us.seq),
    )
    if (found.length === 0 || found.some((row) => row === undefined)) return false
    for (const row of found) if (row) this.#found.set(row.id, row)
    return true
  }

  /**
   * Called once we listen, too: notes the older ones among the holders, some of which may have been hidden before.
   * @returns whether a newer one is there: then we must exit. Of any two that start at once, the one that listens last
   * sees the other
   */
  async isSuperseded(holders: readonly Holder[]): Promise<boolean> {
    const rows = await presentRows(this.#home)
    const us = rows.find(({ id }) => id === this.#id)
    const servers = rows.filter(
      ({ process_type: type, pid }) => type === 'server' && holders.some((h) => h.pid === pid),
    )
    for (const row of servers) if (us !== undefined && row.seq < us.seq) this.#found.set(row.id, row)
    return us !== undefined && servers.some((row) => row.seq > us.seq)
  }

  /** Makes them exit, and waits until they are gone. Throws CannotEnd when one stays. */
  async leave(): Promise<void> {
    for (const row of this.#found.values()) {
      await signalRow(row, 'SIGTERM')
      await signalRow(row, 'SIGCONT') // A stopped process must see it.
    }
    const deadline = performance.now() + GRACE_MS
    for (const row of this.#found.values()) {
      const identity = identityIn(row)
      while (identity && (await livenessOf(identity)) === 'alive' && performance.now() < deadline) await pause()
      if (identity && (await livenessOf(identity)) === 'alive') await terminate(this.#home, row, 0)
    }
    this.#found.clear()
  }
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 20))
