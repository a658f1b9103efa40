import type { Bell } from '../base/abort.ts'
import type { Settings } from '../base/config.ts'
import type { Log } from '../base/log.ts'
import type { Home } from '../db/home.ts'
import type { WorkScope } from '../machines/scope.ts'
import type { Containment } from '../processes/containment/containment.ts'
import type { OutageMonitor } from './outage-monitor.ts'
import type { ServiceManager } from './service-manager.ts'
import type { Signals } from './signals.ts'

/**
 * Begins what a leader has beside its work. It ends what it has begun when `over` aborts: the lead drains, or ends.
 * @param wake makes the leader look again whether it is idle
 */
export type Beside = (over: AbortSignal, wake: () => void) => BesideJob

export interface BesideJob {
  /** Called once a second from the first round on, and never twice at once. */
  whenDue(): Promise<void>
  /** It is at something for which a leader that exits when it is idle waits. */
  readonly isBusy: boolean
}

export interface RunOptions {
  /** The id of our row to be: connections carry it in their names from the start, so that a takeover can end them. */
  readonly id: string
  readonly home: Home
  readonly log: Log
  readonly settings: Settings
  /** The process that started us, when it is one of ours. */
  readonly parentId: string | null
  /** Exit when nothing is due or running, nor scheduled for the next moments. */
  readonly exitOnIdle: boolean
  /** The crawls to work on. */
  readonly scope: WorkScope
  /** The one crawl of the scope, for our row. */
  readonly crawlId: string | undefined
  /** Do not take over: wait until no other runner is left. */
  readonly standby: boolean
  /** Stand by when a newer runner takes over, instead of exiting. */
  readonly stays: boolean
  /** Started to stay: when it belongs to a server, an `add --run` may borrow the lead from it. */
  readonly daemon: boolean
  /** Somebody watches it live, and sees there what a Ctrl-C waits for: the log does not repeat it. */
  readonly isWatched: boolean
  /** How long an older runner may take to drain before its tree is killed. */
  readonly handoffGraceMs: number
  /** How many pages at once over all crawls; undefined: as many as the crawls' own limits come to. */
  readonly concurrency: number | undefined
  /** Drain this long after the start. */
  readonly runForMs: number | undefined
  /** Pass the gate, end and take over what others left behind, and exit. */
  readonly maintenanceOnly: boolean
  /** Touched while the leader is well. */
  readonly livenessFile: string | undefined
  /** By names for the log. */
  readonly beside: Readonly<Record<string, Beside>>
}

/** The options of a runner, and the parts that it has from its start to its end. */
export interface Run extends RunOptions {
  readonly bell: Bell
  readonly signals: Signals
  readonly outage: OutageMonitor
  readonly manager: ServiceManager
}

/** The same, and how this leader contains its hooks. */
export interface LeadOptions extends Run {
  readonly containment: Containment
}

/** Why a runner exited. All of them are fine: exit code 0, except for `forced`. */
export type WhyEnded = 'idle' | 'maintained' | 'drained' | 'superseded' | 'forced'

/** How a run ended. */
export interface Ended {
  readonly why: WhyEnded
  /** The first cause of our drain, in words for users. */
  readonly reason: string | undefined
}

/** Why a term ended, or there was none. `lost`: we could no longer know that we lead, and go through the gate again. */
export type Why = WhyEnded | 'lost'
