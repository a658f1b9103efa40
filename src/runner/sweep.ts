import { AppError } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import type { Log } from '../base/log.ts'
import type { Home } from '../db/home.ts'
import { isRunner, liveRows } from '../db/processes.ts'
import { lostLeaderIn, terminateBackendsOf } from '../db/runners.ts'
import { killFamily, MARKER, membersOf } from '../processes/family.ts'
import { familyOfRows } from '../processes/family-of-rows.ts'
import { bootId, pidNamespace } from '../processes/proc.ts'
import type { Registered } from './registration.ts'

/**
 * Before the promotion: kills and confirms everything that still carries the mark of an older runner, and ends those runners' database
 * sessions. Throws AppError when something survives.
 */
export async function sweep(home: Home, log: Log, me: Registered): Promise<void> {
  const rows = (await liveRows(home)).filter((row) => row.id !== me.id)
  const runners = new Set<string>()
  for (const row of rows) {
    if (isRunner(row) && row.seq < me.seq && !row.standby) runners.add(row.id)
    if (row.runner_id) runners.add(row.runner_id)
  }
  const lost = await lostLeaderIn(home, { bootId: bootId(), pidNamespace: pidNamespace() })
  if (lost) runners.add(lost)
  runners.delete(me.id)
  if (runners.size === 0) return
  const family = {
    ...familyOfRows(rows.filter((row) => runners.has(row.runner_id ?? row.id))),
    markers: [...runners].flatMap((id) => [`${MARKER.runner}=${id}`, `${MARKER.watchdog}=${id}`]),
  }
  const found = (await membersOf(family)).length
  if (found > 0) log.warn(`ending ${found} processes that an earlier runner left behind`)
  const survivors = await killFamily(family)
  await failpoint('sweep.killed')
  if (survivors.length > 0) {
    throw new AppError(`processes of an earlier runner cannot be ended: ${survivors.join(', ')}`, {
      hint: 'end them by hand, then start again',
    })
  }
  await terminateBackendsOf(home, [...runners])
  await failpoint('sweep.backends_ended')
}
