import type { Bell } from '../base/abort.ts'
import type { Settings } from '../base/config.ts'
import type { Log } from '../base/log.ts'
import type { Stop } from '../base/stop.ts'
import type { Owner } from '../machines/queues.ts'
import type { WorkScope } from '../machines/scope.ts'
import type { Containment } from '../processes/containment/containment.ts'

/** What every working process of the hierarchy has, leader and workers alike. */
export interface WorkerContext {
  readonly owner: Owner
  readonly runnerId: string
  readonly log: Log
  readonly stop: Stop
  /** Rings when there may be something new to see. */
  readonly bell: Bell
  /** What is worked on. */
  readonly scope: WorkScope
  /** As the runner found them when it started; a crawl's own settings come on top of them. */
  readonly settings: Settings
  /** How the processes of hooks are kept together. */
  readonly containment: Containment
}
