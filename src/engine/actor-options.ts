import { availableParallelism } from 'node:os'
import type { QueueOptions } from './claim-statements.ts'
import type { AnyClaimed } from './claimed.ts'
import type { OnError } from './executor.ts'
import type { Handled } from './handlers.ts'
import type { Machine } from './machine.ts'
import type { Queue } from './queue.ts'
import type { Sql } from './sql.ts'
import type { Supervised } from './supervised.ts'

/** What happens around ticks. What a hook throws fails the tick (`onTickStart`), or is reported and nothing else. */
export interface ActorHooks<M extends Machine, Row> {
  readonly onStartup?: () => unknown
  readonly onShutdown?: (last: AnyClaimed<M, Row> | undefined, lastError: Error | undefined) => unknown
  readonly onTickStart?: (claim: AnyClaimed<M, Row>) => unknown
  /** Its outcome was written, or nothing was because the row had become somebody else's. */
  readonly onTickEnd?: (claim: AnyClaimed<M, Row>) => unknown
  readonly onTickException?: (claim: AnyClaimed<M, Row>, error: Error) => unknown
}

export interface ActorOptions<M extends Machine, Row> extends ActorHooks<M, Row> {
  readonly sql: Sql
  readonly handlers: Handled<M, Row>
  /** The function of `handlers` that a tick calls. */
  readonly eventName?: string
  /** What narrows its queue down; or the queue itself. */
  readonly queue?: Omit<QueueOptions, 'order'> | Queue<M, Row>
  readonly values?: () => readonly unknown[]
  readonly claimOrder?: 'oldest' | 'newest'
  /** A claim takes one of the first so many, at random; of 1, the first that nobody is about to take. */
  readonly claimFromTopN?: number
  readonly claimAtomic?: boolean
  readonly maxTickMs?: number
  readonly leaseSeconds?: number
  /** A tick is over when its handler has returned, whatever has stopped it: for handlers that own processes. */
  readonly waitForHandlers?: boolean
  /** False: nothing is claimed for now, though something may be due. */
  readonly mayClaim?: () => boolean
  /** Done once, while the database looks for the first row. */
  readonly warmUp?: () => void
  /** Its channel to the pool that has started it. */
  readonly supervised?: Supervised
  /** How long it waits when nothing is due, and after how many such waits in a row it leaves; Infinity: never. */
  readonly idleMs?: number
  readonly maxIdleTicks?: number
  /** Who claims (a UUID), and who moves rows, for the history. */
  readonly owner?: string
  readonly by?: string
  /** Told the token of each claim before it is made: whoever sees the actor die can take its row from it. */
  readonly onClaiming?: (token: string) => void
  /** What it throws about a claim that failed ends the loop. */
  readonly onError?: OnError
  readonly log?: (line: string) => void
}

/** ArchiveBox's numbers. */
export const ACTOR_DEFAULTS = {
  eventName: 'tick',
  claimOrder: 'oldest',
  claimFromTopN: availableParallelism() * 10,
  claimAtomic: true,
  maxTickMs: 60_000,
  idleMs: 1_000,
  maxIdleTicks: 3,
} as const

/** The options with what was not given filled in. */
export type ActorSettings<M extends Machine, Row> = ActorOptions<M, Row> &
  Required<Pick<ActorOptions<M, Row>, keyof typeof ACTOR_DEFAULTS>>
