import type { Bell } from '../../base/abort.ts'
import type { Settings } from '../../base/config.ts'
import type { Log } from '../../base/log.ts'
import type { Stop } from '../../base/stop.ts'
import type { Owner } from '../../machines/queues.ts'
import type { WorkScope } from '../../machines/scope.ts'
import type { Containment } from '../../processes/containment/containment.ts'

/** What the leader and every worker share. */
export interface WorkerContext {
  readonly owner: Owner
  readonly runnerId: string
  readonly log: Log
  readonly stop: Stop
  /** Rings when there may be new work. */
  readonly bell: Bell
  /** The work that this runner is limited to. */
  readonly scope: WorkScope
  /** As the runner read them at its start; a crawl's own settings take precedence. */
  readonly settings: Settings
  /** How hooks' processes are contained. */
  readonly containment: Containment
}
