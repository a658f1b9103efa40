import { sleep } from '../../base/abort.ts'
import { failpoint } from '../../base/failpoint.ts'
import type { Home } from '../../db/home.ts'
import { rowById } from '../../db/process-rows.ts'
import { identityIn, isLive, isRunner, markEnded, type ProcessRow } from '../../db/processes.ts'
import { CannotEnd } from '../cannot-end.ts'
import { endFamily } from '../end-family.ts'
import { type Family, killFamily, membersOf } from '../family.ts'
import { familyOfRows } from '../family-of-rows.ts'
import { livenessOf, signalIdentity } from '../identity.ts'
import { MARKER } from '../marks.ts'
import { descendantsOf, parentOf } from './relatives.ts'

/** How a process ended; both null when nobody saw it. Code 0 is only ever what a parent's wait reported. */
export interface End {
  readonly code: number | null
  readonly signal: string | null
  /** Its row says so, too; false while its supervisor has yet to report. */
  readonly closed: boolean
}

const LOOK_MS = 20
/** A supervisor writes what its wait reported within moments of the end. */
const REPORT_MS = 1_000

/**
 * How a process ended; null while it is there, or cannot be seen from here. One that is gone without a report, and
 * without a supervisor that could still make one, is closed as lost.
 */
export async function poll(home: Home, row: ProcessRow): Promise<End | null> {
  const now = await rowById(home, row.id)
  if (!now || !isLive(now)) return { code: now?.exit_code ?? null, signal: now?.exit_signal ?? null, closed: true }
  if (!(await hasEnded(now))) return null
  const parent = await parentOf(home, now)
  const supervised = parent !== undefined && isLive(parent) && !(await hasEnded(parent))
  if (!supervised) await markEnded(home.db, now.id, null)
  await failpoint('registry.end_seen')
  return { code: null, signal: null, closed: !supervised }
}

/** Waits for the end of a process; null when it does not come within `ms`. */
export async function waitForEnd(home: Home, row: ProcessRow, ms: number): Promise<End | null> {
  const deadline = performance.now() + ms
  let reportBy = Number.POSITIVE_INFINITY
  for (;;) {
    const end = await poll(home, row)
    const now = performance.now()
    if (end) reportBy = Math.min(reportBy, now + REPORT_MS)
    if (end?.closed || now > reportBy) return end
    if (!end && now > deadline) return null
    await sleep(LOOK_MS)
  }
}

/**
 * Sends a signal to exactly the process of this row. False: it is gone, cannot be seen from here, or may not be
 * signalled.
 */
export async function signalRow(row: ProcessRow, signal: NodeJS.Signals): Promise<boolean> {
  const identity = identityIn(row)
  return identity !== null && (await signalIdentity(identity, signal))
}

/**
 * Ends a process and everything below it: SIGTERM to all, and after the grace SIGKILL, until the operating system says
 * that they are gone. No grace: SIGKILL at once. Rows without a supervisor are closed.
 * @returns its end; null when it is still there. Throws CannotEnd when some cannot be ended.
 */
export async function terminate(home: Home, row: ProcessRow, graceMs = 5_000): Promise<End | null> {
  const below = await descendantsOf(home, row.id)
  const family = familyOf(row, below)
  const politely = async () => (await endFamily(family, () => emptyWithin(family, graceMs))).survivors
  const survivors = graceMs > 0 ? await politely() : await killFamily(family)
  await failpoint('registry.tree_killed')
  if (survivors.length > 0) throw new CannotEnd(survivors)
  for (const each of [...below.toReversed(), row]) if (isLive(each)) await poll(home, each)
  return await waitForEnd(home, row, REPORT_MS)
}

async function emptyWithin(family: Family, ms: number): Promise<undefined> {
  const deadline = performance.now() + ms
  while (performance.now() < deadline && (await membersOf(family)).length > 0) await sleep(LOOK_MS)
}

function familyOf(row: ProcessRow, below: readonly ProcessRow[]): Family {
  const family = familyOfRows([row, ...below.filter(isLive)])
  const marks = isRunner(row) ? [`${MARKER.runner}=${row.id}`] : []
  return { ...family, markers: [...(family.markers ?? []), ...marks] }
}

/** By the operating system alone: hooks and workers have no heartbeat that could grow old. */
async function hasEnded(row: ProcessRow): Promise<boolean> {
  const identity = identityIn(row)
  return identity !== null && (await livenessOf(identity)) === 'gone'
}
