import { availableParallelism } from 'node:os'
import type { QueueOptions } from './claim-statements.ts'
import type { AnyClaimed } from './claimed.ts'
import type { OnError } from './executor-options.ts'
import type { Handled } from './handlers.ts'
import type { Machine } from './machine.ts'
import type { Queue } from './queue.ts'
import type { Sql } from './sql.ts'
import type { Supervised } from './supervised.ts'

/** Hooks around ticks. An error in `onTickStart` fails the tick; errors in the others are only reported. */
export interface ActorHooks<M extends Machine, Row> {
  readonly onStartup?: () => unknown
  readonly onShutdown?: (last: AnyClaimed<M, Row> | undefined, lastError: Error | undefined) => unknown
  readonly onTickStart?: (claim: AnyClaimed<M, Row>) => unknown
  /** Called when the outcome was written, or the row turned out to be lost. */
  readonly onTickEnd?: (claim: AnyClaimed<M, Row>) => unknown
  readonly onTickException?: (claim: AnyClaimed<M, Row>, error: Error) => unknown
}

export interface ActorOptions<M extends Machine, Row> extends ActorHooks<M, Row> {
  readonly sql: Sql
  readonly handlers: Handled<M, Row>
  /** The handler function that a tick calls. */
  readonly eventName?: string
  /** Restricts the queue; or the queue itself. */
  readonly queue?: Omit<QueueOptions, 'order'> | Queue<M, Row>
  readonly values?: () => readonly unknown[]
  readonly claimOrder?: 'oldest' | 'newest'
  /** A claim picks one of the first N due rows at random; with 1, the first that is not being claimed. */
  readonly claimFromTopN?: number
  readonly claimAtomic?: boolean
  readonly maxTickMs?: number
  readonly leaseSeconds?: number
  /** A tick ends when its handler has returned, even after it was stopped: for handlers that own processes. */
  readonly waitForHandlers?: boolean
  /** False suspends claims, though rows may be due. */
  readonly mayClaim?: () => boolean
  /** Called once, during the first claim. */
  readonly warmUp?: () => void
  /** The channel to the pool that started it. */
  readonly supervised?: Supervised
  /** How long it waits when nothing is due, and after how many such waits in a row it exits; Infinity: never. */
  readonly idleMs?: number
  readonly maxIdleTicks?: number
  /** `owner`: who claims (a UUID); `by`: who moves rows, for the history. */
  readonly owner?: string
  readonly by?: string
  /** Called with the token of each claim before the claim is made: whoever sees the actor die can release its row. */
  readonly onClaiming?: (token: string) => void
  /** When it throws about a failed claim, the loop ends. */
  readonly onError?: OnError
  readonly log?: (line: string) => void
}

/** ArchiveBox's defaults. */
export const ACTOR_DEFAULTS = {
  eventName: 'tick',
  claimOrder: 'oldest',
  claimFromTopN: availableParallelism() * 10,
  claimAtomic: true,
  maxTickMs: 60_000,
  idleMs: 1_000,
  maxIdleTicks: 3,
} as const

/** The options, completed with defaults. */
export type ActorSettings<M extends Machine, Row> = ActorOptions<M, Row> &
  Required<Pick<ActorOptions<M, Row>, keyof typeof ACTOR_DEFAULTS>>
