import type { Failpoint } from '../../src/base/failpoint.ts'

/** The mechanisms of the gate, each of which a broken variant lacks. */
export interface Design {
  /** Wait until the operating system says that older runners are gone. */
  readonly wait: boolean
  /** Judge by the operating system; without it, by the heartbeat: whoever stands still counts as gone. */
  readonly osTruth: boolean
  /** Close rows when a process is gone, not when it was signalled. */
  readonly exitedWhenGone: boolean
  /** Kill what is left of older runners before the promotion. */
  readonly reap: boolean
  /** End the database sessions of older runners before the promotion. */
  readonly endBackends: boolean
  /** Claims and writes hold only in the term, and with the token, of their owner. */
  readonly fence: boolean
  /** The unique index over active runners. */
  readonly index: boolean
  /** The kernel's lock on the data dir. */
  readonly lock: boolean
  /** SIGKILL, and SIGCONT before it, for who does not go. */
  readonly force: boolean
  /** A promotion makes the claims of the dead due again. */
  readonly requeue: boolean
  /** Who hands over stays until the newer one leads. */
  readonly stays: boolean
}

export const FULL: Design = {
  wait: true,
  osTruth: true,
  exitedWhenGone: true,
  reap: true,
  endBackends: true,
  fence: true,
  index: true,
  lock: true,
  force: true,
  requeue: true,
  stays: true,
}

/** The last step that a runner has taken. `off`: not started; `left`: ended in order. */
export type At =
  | 'off'
  | 'left'
  | Extract<Failpoint, `gate.${string}`>
  | 'claim.made'
  | 'spawn.hook_spawned'
  | 'publish.hook_settling'
  | 'shutdown.row_draining'
  | 'shutdown.workers_gone'
  | 'shutdown.demoted'
  | 'shutdown.row_closed'

export interface Runner {
  readonly at: At
  readonly os: 'running' | 'stopped' | 'gone'
  readonly row: 'none' | 'waiting' | 'leading' | 'standby' | 'closed'
  readonly term: number
  /** The older runners that it saw when it last looked. */
  readonly older: readonly number[]
  /** A signal, or a request in its row. */
  readonly asked: boolean
  /** The hook that it started is alive. */
  readonly hook: boolean
  /**
   * Its write is with the database and may be carried out at any time, even after its death: in which term it was sent.
   */
  readonly flight: number
}

export interface State {
  /** In the order in which they register: a later one is newer. */
  readonly runners: readonly Runner[]
  readonly term: number
  /** Who has claimed the one page that there is to do, or -1. */
  readonly claim: number
  /** A write was accepted in this term. */
  readonly written: number
  readonly stale: boolean
  /** A runner left with a clear error, for a person to act on. */
  readonly told: boolean
  readonly crashes: number
  readonly pauses: number
}

const LEADING: readonly At[] = [
  'gate.promoted',
  'claim.made',
  'spawn.hook_spawned',
  'publish.hook_settling',
  'shutdown.row_draining',
]
/** Does it work as the leader, as far as it knows? */
export const leads = ({ at, os }: Runner) => os !== 'gone' && LEADING.includes(at)

/**
 * Where a runner lives: those of one container see each other's processes, those of one kernel share its locks, others
 * see rows and heartbeats.
 */
export interface Place {
  readonly kernel: number
  readonly container: number
}

/** How much may go wrong on a way. */
export interface Faults {
  readonly crashes: number
  readonly pauses: number
}
