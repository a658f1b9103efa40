import type { Bell } from '../base/abort.ts'
import type { Log } from '../base/log.ts'
import type { Stop } from '../base/stop.ts'
import type { LiveRow } from '../db/processes.ts'
import { presenceOf } from '../processes/presence.ts'
import type { Reason, Waiter } from './reasons-to-wait.ts'
import { Silence } from './silence.ts'
import { watchEnds } from './watch-ends.ts'

/** How often the kernel is asked whether a process has ended. */
const LOOK_MS = 100
/** How often a database that is away is tried. */
const AWAY_MS = 500

export interface WaitOptions {
  readonly log: Log
  readonly stop: Stop
  readonly bell: Bell
  /** Called with the reason why we wait, and with null when there is none any more. */
  readonly waitsFor: (reason: string | null) => void
  /** Called when a query failed; throws what waiting cannot fix. */
  readonly away: (error: unknown) => void
}

/**
 * Waits for as long as a live process is in the way, and reports so once. The end of a process of this machine is
 * noticed within 0.1 s, however it ended; of another machine within `lookMs`; a process that stands still is passed
 * when its trust in its lead has expired.
 * @returns those in the way that have fallen silent: they still exist, and somebody has to end them; none when we were
 * told to stop. `succeeded`: a newer runner leads
 */
export async function waitWhile(
  { inTheWay, says, lookMs }: Reason,
  waiter: Waiter,
  { log, stop, bell, waitsFor, away }: WaitOptions,
): Promise<readonly LiveRow[] | 'succeeded'> {
  const silence = new Silence()
  let last: LiveRow | undefined
  while (!stop.drain.aborted) {
    try {
      const rows = await inTheWay(waiter)
      if (rows === 'succeeded') return rows
      const silent = rows.filter((row) => silence.hasFallenOn(row))
      const row = rows.findLast((each) => !silent.includes(each))
      if (!row) {
        waitsFor(null)
        sayWhatEnded(log, last, silent)
        return silent
      }
      const reason = says(row)
      if (!last) log.info(reason, { event: 'runner.waits', for_pid: row.pid })
      waitsFor(reason)
      last = row
      const isSeen = (await presenceOf(waiter.home, row)) !== 'unseen'
      if (isSeen) await watchEnds([row], { bell, stop, ms: lookMs, lookMs: Math.min(LOOK_MS, lookMs) })
      else await bell.wait(lookMs, stop.drain)
    } catch (error) {
      away(error)
      await bell.wait(AWAY_MS, stop.drain)
    }
  }
  return []
}

function sayWhatEnded(log: Log, last: LiveRow | undefined, silent: readonly LiveRow[]): void {
  for (const { pid } of silent)
    log.warn(`pid ${pid} has fallen silent (stopped, or cut off from the database): going before it`)
  if (last && silent.length === 0)
    log.info(`pid ${last.pid} is out of the way: resuming`, { event: 'runner.resumes', for_pid: last.pid })
}
