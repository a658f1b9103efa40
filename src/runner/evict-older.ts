import type { Bell } from '../base/abort.ts'
import { AppError } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import type { Stop } from '../base/stop.ts'
import type { Home } from '../db/home.ts'
import { identityIn, isRunner, type LiveRow, liveRows } from '../db/processes.ts'
import { requestHandoff } from '../db/runners.ts'
import { killFamily, MARKER } from '../processes/family.ts'
import { livenessOf, signalIdentity } from '../processes/identity.ts'
import { type Presence, presenceOf } from '../processes/presence.ts'
import type { GateOptions } from './gate.ts'
import type { Registered } from './registration.ts'

/** How long a killed tree may take to be gone (a process in uninterruptible sleep may never be). */
const KILL_MS = 5_000
/** The kernel is asked this often, the database less so. */
const LOOK_MS = 2
const ROWS_MS = 50
const UNSEEN_MS = 500

interface Older {
  row: LiveRow
  presence: Presence
}

/**
 * Asks older runners to hand over, waits until they are gone or stand by, and kills what does not go. Of a runner that we can see the operating system alone decides; of others their row, and later the data dir's lock.
 * @returns false when a newer runner than we are came onWaiting, or we are to stop
 * Throws AppError when one survives that.
 */
export async function evictOlderRunners(
  { home, log, stop, bell, handoffGraceMs, onWaiting, waitsFor }: GateOptions,
  me: Registered,
  older: readonly LiveRow[],
): Promise<boolean> {
  const ids = older.map(({ id }) => id)
  const reachable: string[] = []
  for (const row of older) if ((await presenceOf(home, row)) === 'there') reachable.push(row.id)
  const asked = await requestHandoff(home, me.id, ids, reachable, handoffGraceMs / 1_000)
  await failpoint('gate.asked')
  for (const row of older) {
    const unseen = (await presenceOf(home, row)) === 'unseen'
    const leads = row.worker_type === 'worker_runner'
    log.info(
      `${leads ? 'taking over from' : 'going before'} runner pid ${row.pid}${unseen ? ' in another container or on another machine: asked through the database' : ''}`,
    )
    // One that waits at the gate sees us by itself. A second signal would mean "hurry", and a stopped process sees none but this.
    if (asked.includes(row.id)) await signalIdentity(identityIn(row)!, 'SIGTERM')
    await signalIdentity(identityIn(row)!, 'SIGCONT')
  }
  await failpoint('gate.signalled')
  const begun = performance.now()
  onWaiting()
  let killed = false
  for (;;) {
    const rows = await liveRows(home)
    if (await isNewerThere(home, me, rows)) return false
    const left: Older[] = []
    for (const before of older) {
      const now = rows.find(({ id }) => id === before.id)
      const presence = await presenceOf(home, now ?? before)
      // A row that closed itself may belong to a process that has not left yet; where we cannot look, the data dir's lock will tell.
      if (presence === 'there' || (presence === 'unseen' && now))
        if (!now?.standby) left.push({ row: now ?? before, presence })
    }
    if (stop.drain.aborted) return false
    if (left.length === 0) return true
    waitsFor(`waiting for runner pid ${left.map(({ row }) => row.pid).join(', ')} to hand over`)
    const waited = performance.now() - begun
    const seen = left.filter(({ presence }) => presence === 'there')
    if (seen.length > 0 && waited > handoffGraceMs + (killed ? KILL_MS : 0)) {
      const pids = seen.map(({ row }) => row.pid).join(', ')
      if (killed) {
        throw new AppError(
          `cannot end the older runner (pid ${pids}): it survives SIGKILL or belongs to another user`,
          {
            hint: 'end it by hand, then start again; nothing was taken over',
          },
        )
      }
      killed = true
      log.warn(`runner pid ${pids} did not hand over within ${handoffGraceMs / 1_000} s: killing its processes`)
      for (const { row } of seen)
        await killFamily({ roots: [identityIn(row)!], markers: [`${MARKER.runner}=${row.id}`] }, KILL_MS)
      await failpoint('gate.killed')
    }
    if (seen.length > 0) await untilOneIsGone(seen, bell, stop)
    else await bell.wait(UNSEEN_MS, stop.drain)
  }
}

/** Watches processes through the kernel alone for a moment: the first to go is noticed at once, and without the database. */
async function untilOneIsGone(seen: readonly Older[], bell: Bell, stop: Stop): Promise<void> {
  const end = performance.now() + ROWS_MS
  while (performance.now() < end && !stop.drain.aborted) {
    for (const { row } of seen) if ((await livenessOf(identityIn(row)!)) === 'gone') return
    await bell.wait(LOOK_MS, stop.drain)
  }
}

async function isNewerThere(home: Home, me: Registered, rows: readonly LiveRow[]): Promise<boolean> {
  for (const row of rows) {
    if (isRunner(row) && !row.standby && row.seq > me.seq && (await presenceOf(home, row)) !== 'gone') return true
  }
  return false
}
