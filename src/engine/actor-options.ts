import { availableParallelism } from 'node:os'
import type { QueueOptions } from './claim-statements.ts'
import type { AnyClaimed } from './claimed.ts'
import type { OnError } from './executor.ts'
import type { Handled } from './handlers.ts'
import type { Machine } from './machine.ts'
import type { Sql } from './sql.ts'

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
  readonly queue?: Omit<QueueOptions, 'order'>
  readonly values?: () => readonly unknown[]
  readonly claimOrder?: 'oldest' | 'newest'
  readonly claimFromTopN?: number
  readonly claimAtomic?: boolean
  readonly maxTickMs?: number
  readonly leaseSeconds?: number
  /** How long it waits when nothing is due, and after how many such waits in a row it leaves; Infinity: never. */
  readonly idleMs?: number
  readonly maxIdleTicks?: number
  /** Who claims (a UUID), and who moves rows, for the history. */
  readonly owner?: string
  readonly by?: string
  /** Told the token of each claim before it is made: whoever sees the actor die can take its row from it. */
  readonly onClaiming?: (token: string) => void
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
