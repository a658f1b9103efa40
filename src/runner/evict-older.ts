import type { Bell } from '../base/abort.ts'
import { AppError } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import type { Log } from '../base/log.ts'
import type { Stop } from '../base/stop.ts'
import { settleHeartbeats } from '../db/heartbeats.ts'
import type { Home } from '../db/home.ts'
import { identityIn, isRunner, type LiveRow, liveRows } from '../db/processes.ts'
import { type Place, requestHandoff } from '../db/runners.ts'
import { killFamily } from '../processes/family.ts'
import { signalIdentity } from '../processes/identity.ts'
import { MARKER } from '../processes/marks.ts'
import { presenceOf } from '../processes/presence.ts'
import { watchEnds } from './watch-ends.ts'

/** How long a killed tree may take to be gone (a process in uninterruptible sleep may never be). */
const KILL_MS = 5_000
/** How often the kernel is asked about one process, about each of two half as often; the database less often. */
const LOOK_MS = 1
const ROWS_MS = 20
/** An idle runner stands by at once, and only its row tells: read this soon, then after a tenth of the wait. */
const FIRST_ROWS_MS = 2
const UNSEEN_MS = 500

export interface EvictOptions {
  readonly home: Home
  readonly log: Log
  readonly stop: Stop
  readonly bell: Bell
  /** Called with the reason why we wait. */
  readonly waitsFor: (reason: string | null) => void
  /** How long an older runner may take to drain before its tree is killed. */
  readonly handoffGraceMs: number
  /** Called when all older ones have been asked, and nobody newer is there: time to prepare what a leader needs. */
  readonly onAsked: () => Promise<void>
}

/**
 * Asks older runners to hand over, waits until they are gone or stand by, and kills those that stay. For a runner that
 * we can see, the operating system alone decides whether it is gone; for others their row does, and later the data
 * dir's lock. Throws AppError when one survives being killed.
 * @returns false when a newer runner than this one has come, or we have to stop
 */
export async function evictOlderRunners(options: EvictOptions, me: Place, older: readonly LiveRow[]): Promise<boolean> {
  const { home, log, stop, bell, handoffGraceMs, onAsked, waitsFor } = options
  await askToHandOver(options, me, older)
  const begun = performance.now()
  const seenLeft = async (seen: readonly LiveRow[]) => {
    const ms = Math.min(ROWS_MS, FIRST_ROWS_MS + (performance.now() - begun) / 10)
    return await watchEnds(seen, { bell, stop, ms, lookMs: seen.length * LOOK_MS })
  }
  for (let killed = false, isFirst = true; ; isFirst = false) {
    const rows = await liveRows(home)
    if (await isNewerThere(home, me, rows)) return false
    if (isFirst) await onAsked()
    const { seen, unseen } = await stillThere(home, older, rows)
    const left = [...seen, ...unseen]
    if (stop.drain.aborted) return false
    if (left.length === 0) return true
    waitsFor(`waiting for runner pid ${pidsOf(left)} to hand over`)
    if (seen.length > 0 && performance.now() - begun > handoffGraceMs + (killed ? KILL_MS : 0)) {
      if (killed) throw cannotEnd(seen)
      log.warn(
        `runner pid ${pidsOf(seen)} did not hand over within ${handoffGraceMs / 1_000} s: killing its processes`,
        {
          ...{ event: 'runner.kills_older', pids: pidsOf(seen) },
        },
      )
      for (const row of seen)
        await killFamily(
          { roots: [identityIn(row)!], markers: [`${MARKER.runner}=${row.id}`] },
          { deadlineMs: KILL_MS },
        )
      await failpoint('gate.killed')
      killed = true
    }
    if (seen.length === 0) {
      await settleHeartbeats(home.db)
      await bell.wait(UNSEEN_MS, stop.drain)
      continue
    }
    // The gate checks the rows once more before anybody is promoted.
    if ((await seenLeft(seen)) === 0 && unseen.length === 0 && !stop.drain.aborted) return true
  }
}

/** Asks in their rows, and by a signal where one can reach them. */
async function askToHandOver(
  { home, log, handoffGraceMs }: EvictOptions,
  me: Place,
  older: readonly LiveRow[],
): Promise<void> {
  const { seen: reachable, unseen } = await stillThere(home, older, older)
  const ids = (rows: readonly LiveRow[]) => rows.map(({ id }) => id)
  const asked = await requestHandoff(home, me.id, ids(older), ids(reachable), handoffGraceMs / 1_000)
  await failpoint('gate.asked')
  for (const row of older) {
    const what = row.worker_type === 'worker_runner' ? 'taking over from' : 'going before'
    const how = unseen.includes(row) ? ' in another container or on another machine: asked through the database' : ''
    log.info(`${what} runner pid ${row.pid}${how}`, { event: 'runner.takes_over', from_pid: row.pid })
    // A runner at the gate sees us by itself. A second SIGTERM would mean "hurry".
    await signalIdentity(identityIn(row)!, asked.includes(row.id) ? 'SIGTERM' : 'SIGCONT')
  }
  await failpoint('gate.signalled')
}

/**
 * The older runners that are still in the way. A closed row may belong to a process that has not exited yet; where we
 * cannot look, the data dir's lock will tell.
 */
async function stillThere(home: Home, older: readonly LiveRow[], rows: readonly LiveRow[]) {
  const seen: LiveRow[] = []
  const unseen: LiveRow[] = []
  for (const before of older) {
    const now = rows.find(({ id }) => id === before.id)
    if (now?.standby) continue
    const presence = await presenceOf(home, now ?? before)
    if (presence === 'there') seen.push(now ?? before)
    if (presence === 'unseen' && now) unseen.push(now)
  }
  return { seen, unseen }
}

async function isNewerThere(home: Home, me: Place, rows: readonly LiveRow[]): Promise<boolean> {
  for (const row of rows) {
    if (isRunner(row) && !row.standby && row.seq > me.seq && (await presenceOf(home, row)) !== 'gone') return true
  }
  return false
}

function cannotEnd(rows: readonly LiveRow[]): AppError {
  return new AppError(
    `cannot end the older runner (pid ${pidsOf(rows)}): it survives SIGKILL or belongs to another user`,
    { hint: 'end it by hand, then start again; nothing was taken over' },
  )
}

function pidsOf(rows: readonly LiveRow[]): string {
  return rows.map(({ pid }) => pid).join(', ')
}
