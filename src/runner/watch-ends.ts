import type { Bell } from '../base/abort.ts'
import type { Stop } from '../base/stop.ts'
import { identityIn, type LiveRow } from '../db/processes.ts'
import { livenessOf } from '../processes/identity.ts'

export interface WatchOptions {
  readonly bell: Bell
  readonly stop: Stop
  /** How long, and how often the kernel is asked, in ms. */
  readonly ms: number
  readonly lookMs: number
}

/**
 * Watches processes of this machine, without the database, until one of them has ended, the time is over or we have to
 * stop.
 * @returns how many are left
 */
export async function watchEnds(seen: readonly LiveRow[], { bell, stop, ms, lookMs }: WatchOptions): Promise<number> {
  const end = performance.now() + ms
  for (;;) {
    const alive = await Promise.all(seen.map(async (row) => (await livenessOf(identityIn(row)!)) !== 'gone'))
    const left = alive.filter(Boolean).length
    if (left < seen.length || performance.now() > end || stop.drain.aborted) return left
    await bell.wait(lookMs, stop.drain)
  }
}
