import { aborted, type Bell } from '../base/abort.ts'
import type { Stop } from '../base/stop.ts'
import type { ActorPoolOptions } from './actor-pool-options.ts'
import { viewsOf } from './views.ts'

const TICK_MS = 1_000
const DRAIN_MS = 60_000
/** The spawn policy does not distinguish longer queues. */
const COUNT_AT_MOST = 11

/** What the loop needs of a pool. */
interface Looped {
  readonly size: number
  fill(due: number): Promise<void>
  killStuck(): Promise<void>
  close(): Promise<void>
}

/** When to drain, and when to stop. */
export interface Until {
  readonly signal?: AbortSignal
  readonly force?: AbortSignal
}

/** The loop of a pool whose caller has none. Never throws. */
export async function runPool(
  pool: Looped,
  { machine, sql, queue, values, exitOnIdle, tickMs = TICK_MS, drainMs = DRAIN_MS }: ActorPoolOptions,
  { stop, bell, report }: { readonly stop: Stop; readonly bell: Bell; readonly report: (error: unknown) => void },
  { signal, force }: Until,
): Promise<void> {
  const { pending } = viewsOf(machine, sql, queue, () => (values?.() ?? []).slice(0, queue?.whereValues ?? 0))
  if (signal) void aborted(signal).then(() => stop.requestDrain(drainMs, false))
  if (force) void aborted(force).then(() => stop.requestForce(false))
  await undefined // Lets a signal that has already aborted take effect before an actor is started.
  for (let isIdle = false; !stop.drain.aborted && !(isIdle && exitOnIdle); ) {
    try {
      await pool.killStuck()
      const waiting = await pending.count(COUNT_AT_MOST)
      await pool.fill(waiting)
      isIdle = waiting === 0 && pool.size === 0
    } catch (error) {
      report(error) // The database is away: the next round tries again.
    }
    if (!(isIdle && exitOnIdle)) await bell.wait(tickMs, stop.drain)
  }
  const late = setTimeout(() => stop.requestForce(false), drainMs)
  await pool.close()
  clearTimeout(late)
}
