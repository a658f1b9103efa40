// The guardian becomes this program when its runner is dead. It ends whatever the runner left behind, and closes its
// rows. It knows only its own runner, by mark and identity, so it cannot touch what a newer one has started meanwhile.
// It imports little at first, since speed matters here.
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { failpoint } from '../base/failpoint.ts'
import { Log, toFile } from '../base/log.ts'
import { showSourceLines } from '../base/start/source-lines.ts'
import { killFamily, membersOf } from '../processes/family.ts'
import { MARKER } from '../processes/marks.ts'
import { hasProc } from '../processes/proc.ts'
import { isSame } from '../processes/table.ts'
import { guardianLog } from './guardian-log.ts'

/** The pipe closes a moment before the process is gone. */
const LOOK_MS = 2

showSourceLines()
for (const ignored of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(ignored, () => {})

const runnerId = process.env[MARKER.guardian] ?? ''
const dataDir = process.env['DATA_DIR'] ?? ''
const [pid = 0, startTicks = 0] = process.argv.slice(2, 4).map(Number)
/** Its shell was told this line. */
const databaseUrl = readFileSync(0, 'utf8').trim()
const cgroups = process.argv.slice(4)
const log = new Log('guardian', toFile(guardianLog(dataDir)))

if (!runnerId || !dataDir || !pid) throw new Error('the guardian can only be started by a runner')
void reap()

async function reap(): Promise<void> {
  await failpoint('guardian.noticed')
  // Without /proc, the end of the pipe must do.
  while (hasProc && (await isSame({ pid, startTicks }))) await delay(LOOK_MS)
  const family = { markers: [`${MARKER.runner}=${runnerId}`], cgroups }
  const found = (await membersOf(family)).length
  const survivors = await killFamily(family)
  await failpoint('guardian.reaped')
  log.warn(`runner ${runnerId} (pid ${pid}) died: ended ${found - survivors.length} of its processes`)
  if (!databaseUrl) return
  const { reconcileAfter } = await import('./after-death.ts')
  await reconcileAfter(databaseUrl, runnerId, log)
}
